/* Parses documents in pieces, with entities, namespaces, a DTD, and one faulty document. */
#include <stdio.h>
#include <string.h>
#include "expat.h"

static int seen;

static void XMLCALL started(void *user, const XML_Char *name, const XML_Char **attributes) {
    (void)user, (void)name;
    while (*attributes) attributes += 2, seen++;
}
static void XMLCALL ended(void *user, const XML_Char *name) { (void)user, seen += name[0] == 'x'; }
static void XMLCALL text(void *user, const XML_Char *s, int length) { (void)user, (void)s, seen += length > 50; }
static void XMLCALL declared(void *user, const XML_Char *name, XML_Content *model) {
    (void)name;
    XML_FreeContentModel((XML_Parser)user, model);
}

int main(void) {
    static char document[200000];
    const char *head = "<?xml version='1.0' encoding='UTF-8'?><!DOCTYPE shop [<!ELEMENT shop (item|x:thing)*><!ENTITY e 'an entity'>"
                       "<!ELEMENT item (#PCDATA)><!ATTLIST item kind CDATA 'usual' id ID #IMPLIED><!ENTITY f '&e; and &e;'>]><shop xmlns:x='urn:x'>";
    size_t size = strlen(strcpy(document, head));
    for (int i = 0; size < sizeof document - 400; i++)
        size += (size_t)sprintf(document + size, "<item id='i%d' other%d='&lt;%d'>text &f; %d</item><x:thing x:a%d='b'><![CDATA[raw]]></x:thing><!-- c -->", i, i % 50, i, i, i % 9);
    strcpy(document + size, "</shop>"), size += 7;
    for (int round = 0; round < 6; round++) {
        XML_Parser parser = round % 2 ? XML_ParserCreateNS(NULL, '|') : XML_ParserCreate(NULL);
        size_t piece = round < 2 ? 100 : 7000;
        if (!parser) return 1;
        XML_UseParserAsHandlerArg(parser);
        XML_SetElementHandler(parser, started, ended);
        XML_SetCharacterDataHandler(parser, text);
        XML_SetElementDeclHandler(parser, declared);
        for (size_t at = 0; at < size; at += piece)
            if (!XML_Parse(parser, document + at, (int)(size - at < piece ? size - at : piece), at + piece >= size)) {
                fprintf(stderr, "%s\n", XML_ErrorString(XML_GetErrorCode(parser)));
                return 2;
            }
        XML_ParserReset(parser, NULL);
        if (XML_Parse(parser, "<a><b></a>", 10, 1)) return 3;
        XML_ParserFree(parser);
    }
    return seen < 1000;
}
