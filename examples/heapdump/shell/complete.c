/* heapdump --completion SHELL: scripts that complete command lines in bash, zsh and fish, made from the tables of
   commands and options. */

#include "shell.h"

/* An option of a command, with all of its forms. */
typedef struct completed {
    char name[32], value[32];    /* value: its name in the help; empty: the option takes no value */
    hd_str help;                 /* its first line */
    bool files;                  /* the value is the name of a file */
    char words[1024];            /* possible values, each with a space before it; empty: any value */
} completed;

typedef struct writer {
    const command *command;
    FILE *out;
    void (*put)(struct writer *w); /* writes `option` */
    completed option;            /* collects the forms of an option; empty at first */
} writer;

/* Values. -------------------------------------------------------------------------------------- */

static void add_word(completed *o, const char *word, size_t n) {
    size_t at = strlen(o->words);
    if (n) snprintf(o->words + at, sizeof o->words - at, " %.*s", (int)n, word);
}

static void add_words(completed *o, const char *words, const char *between) {
    for (words += strspn(words, between); *words; words += strspn(words, between)) {
        size_t n = strcspn(words, between);
        add_word(o, words, n);
        words += n;
    }
}

/* Adds the words in lower case, which are typed as they are: all|hidden, every=SECONDS, signal[=NAME]. */
static void add_literals(completed *o, const char *value) {
    for (; *value >= 'a' && *value <= 'z'; value += *value == '|') {
        size_t n = strcspn(value, "|["), typed = 0;
        while (typed < n && !(value[typed] >= 'A' && value[typed] <= 'Z')) typed++;
        add_word(o, value, typed);
        value += strcspn(value, "|");
    }
}

static void add_values(completed *o, const char *value) {
    const hd_format *format;
    o->files |= !strcmp(value, "FILE") || !strcmp(value, "TRACE") || !strcmp(value, "HINTS");
    add_literals(o, value);
    if (!strcmp(value, "AXIS")) add_words(o, "backtrace type size lifetime heat binary age thread", " ");
    if (!strcmp(value, "SITE")) add_words(o, "function stack type", " ");
    if (!strcmp(o->name, "to")) add_words(o, formats_written(), ", ");
    if (!strcmp(o->name, "format") && !strcmp(value, "NAME"))
        for (size_t i = 0; (format = format_at(i)); i++)
            if (format->read) add_word(o, format->name, strlen(format->name));
    if (!strcmp(o->name, "sort") && !strcmp(value, "COLUMN"))
        add_words(o, "live blocks growth rate temporary name", " ");
    if (!strcmp(o->name, "sort") && !strcmp(value, "KEY")) add_words(o, "bytes blocks self name", " ");
    if (!strcmp(o->name, "kind"))
        for (int kind = HD_HEAP_LIVE; kind <= HD_HEAP_TEMPORARY; kind++)
            add_words(o, hd_heap_kind_name((hd_heap_kind)kind), " ");
    if (!strcmp(o->name, "metric")) {
        add_words(o, "average", " ");
        for (uint32_t field = 1; field < HD_MEMPROF_FIELDS; field++)
            add_words(o, hd_memprof_field_name(field), " ");
    }
}

static void flush(writer *w) {
    if (*w->option.name) w->put(w);
    memset(&w->option, 0, sizeof w->option);
}

/* Collects the forms of an option, which are adjacent. */
static void gather(void *user, hd_str name, const char *value, const char *help) {
    writer *w = user;
    completed *o = &w->option;
    if (!help) return;
    if (!hd_str_equal(name, hd_cstr(o->name))) {
        flush(w);
        snprintf(o->name, sizeof o->name, "%.*s", (int)name.len, name.data);
        snprintf(o->value, sizeof o->value, "%s", value ? value : "");
        o->help = (hd_str){ help, strcspn(help, "\n") };
    }
    if (value) add_values(o, value);
}

static void put_options(const command *c, void (*put)(writer *w), FILE *out) {
    writer w = { .command = c, .put = put, .out = out };
    options_each(c, gather, &w);
    flush(&w);
}

/* Writes a text inside single quotes of a shell. Characters of `escaped` get a backslash; a quote becomes `quote`. */
static void put_inside(FILE *out, hd_str text, const char *escaped, const char *quote) {
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'') {
            display(out, "%s", quote);
            continue;
        }
        if (strchr(escaped, text.data[i])) fputc('\\', out);
        fputc(text.data[i], out);
    }
}

static hd_str first_line(const char *text) { return (hd_str){ text, strcspn(text, "\n") }; }

/* bash. ---------------------------------------------------------------------------------------- */

static void bash_name(writer *w) {
    display(w->out, " --%s%s", w->option.name, strcmp(w->option.name, "output") ? "" : " -o");
}

static void bash_values(writer *w) {
    const completed *o = &w->option;
    if (o->files || !*o->words) return; /* any value: the shell completes file names */
    display(w->out, "    %s:--%s) words='%s' ;;\n", w->command->name, o->name, o->words + 1);
}

static void bash_files(writer *w) {
    const completed *o = &w->option;
    if (o->files) display(w->out, " | %s:--%s", w->command->name, o->name);
}

static void write_bash(const command *commands, size_t count, FILE *out) {
    put_lines(out, hd_cstr("# bash completion of heapdump: made by heapdump --completion bash\n"
                           "_heapdump() {\n"
                           "  local i at=$COMP_CWORD cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=\n"
                           "  COMPREPLY=()\n"
                           "  for ((i = 2; i < at; i++)); do\n"
                           "    [[ $command == record && ${COMP_WORDS[i]} == -- ]] || continue\n"
                           "    if declare -F _command_offset >/dev/null; then _command_offset $((i + 1))\n"
                           "    elif ((at == i + 1)); then COMPREPLY=($(compgen -c -- \"$cur\")); fi\n"
                           "    return\n"
                           "  done\n"
                           "  # --name=value is three words here\n"
                           "  if [[ $cur == = ]]; then cur=\n"
                           "  elif ((at > 2)) && [[ ${COMP_WORDS[at - 1]} == = ]]; then ((at--)); fi\n"
                           "  if ((COMP_CWORD == 1)); then words='"));
    for (size_t i = 0; i < count; i++) display(out, "%s ", commands[i].name);
    put_lines(out, hd_cstr("help --help --version --completion'\n"
                           "  else case $command:${COMP_WORDS[at - 1]} in\n"
                           "    --completion:*) words='bash zsh fish' ;;\n"
                           "    --version:*) words=--license ;;\n"
                           "    help:help) words='"));
    for (size_t i = 0; i < count; i++) display(out, "%s%s", i ? " " : "", commands[i].name);
    display(out, "' ;;\n    *:-o");
    for (size_t i = 0; i < count; i++) put_options(&commands[i], bash_files, out);
    display(out, ") return ;;\n");
    for (size_t i = 0; i < count; i++) put_options(&commands[i], bash_values, out);
    display(out, "    *) [[ $cur == -* ]] || return\n      case $command in\n");
    for (size_t i = 0; i < count; i++) {
        display(out, "        %s) words='--help", commands[i].name);
        put_options(&commands[i], bash_name, out);
        display(out, "' ;;\n");
    }
    put_lines(out, hd_cstr("      esac ;;\n"
                           "  esac; fi\n"
                           "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                           "  [[ ${COMPREPLY-} != *= ]] || compopt -o nospace 2>/dev/null\n"
                           "}\n"
                           "complete -o bashdefault -o default -F _heapdump heapdump\n"));
}

/* zsh. ----------------------------------------------------------------------------------------- */

static void zsh_option(writer *w) {
    const completed *o = &w->option;
    const char *equals = *o->value ? "=" : "";
    if (!strcmp(o->name, "output")) display(w->out, "      '(-o --output)'{-o+,--output=}'[");
    else display(w->out, "      '%s--%s%s[", strcmp(o->name, "binary") ? "" : "*", o->name, equals);
    put_inside(w->out, o->help, "[]:\\", "'\\''");
    display(w->out, "]");
    if (*o->value) display(w->out, ":value:");
    if (o->files) display(w->out, "_files");
    else if (*o->words) display(w->out, "(%s)", o->words + 1);
    else if (*o->value) display(w->out, " ");
    display(w->out, "' \\\n");
}

static void write_zsh(const command *commands, size_t count, FILE *out) {
    put_lines(out, hd_cstr("#compdef heapdump\n"
                           "# zsh completion of heapdump: made by heapdump --completion zsh\n"
                           "_heapdump() {\n"
                           "  local -a known\n"
                           "  known=(\n"));
    for (size_t i = 0; i < count; i++) {
        display(out, "    '%s:", commands[i].name);
        put_inside(out, first_line(commands[i].summary), ":\\", "'\\''");
        display(out, "'\n");
    }
    put_lines(out, hd_cstr("    'help:show the options of a command'\n"
                           "  )\n"
                           "  if (( CURRENT == 2 )); then\n"
                           "    _describe -t commands command known\n"
                           "    compadd -- --help --version --completion\n"
                           "    return\n"
                           "  fi\n"
                           "  local name=$words[2]\n"
                           "  shift words\n"
                           "  (( CURRENT-- ))\n"
                           "  case $name in\n"
                           "    help) (( CURRENT == 2 )) && _describe -t commands command known ;;\n"
                           "    --completion) compadd bash zsh fish ;;\n"
                           "    --version) compadd -- --license ;;\n"));
    for (size_t i = 0; i < count; i++) {
        display(out, "    %s) _arguments -s -S \\\n", commands[i].name);
        put_options(&commands[i], zsh_option, out);
        display(out, "      '(- *)--help[show the options]' \\\n      '%s' ;;\n",
                commands[i].runs_program ? "*::program:_normal" : "*:file:_files");
    }
    put_lines(out, hd_cstr("  esac\n"
                           "}\n"
                           "if [[ $funcstack[1] == _heapdump ]]; then _heapdump \"$@\"\n"
                           "else compdef _heapdump heapdump; fi\n"));
}

/* fish. ---------------------------------------------------------------------------------------- */

static void fish_option(writer *w) {
    const completed *o = &w->option;
    display(w->out, "complete -c heapdump -n '__heapdump_is %s' -l %s%s", w->command->name, o->name,
            strcmp(o->name, "output") ? "" : " -s o");
    if (o->files) display(w->out, " -rF");
    else if (*o->words) display(w->out, " -xa '%s'", o->words + 1);
    else if (*o->value) display(w->out, " -x");
    display(w->out, " -d '");
    put_inside(w->out, o->help, "\\", "\\'");
    display(w->out, "'\n");
}

static void write_fish(const command *commands, size_t count, FILE *out) {
    put_lines(out, hd_cstr("# fish completion of heapdump: made by heapdump --completion fish\n"
                           "function __heapdump_is\n"
                           "  set -l words (commandline -opc)\n"
                           "  test (count $words) -gt 1; and test \"$words[2]\" = $argv[1]\n"
                           "end\n"
                           "function __heapdump_begins\n"
                           "  test (count (commandline -opc)) -eq 1\n"
                           "end\n"
                           "complete -c heapdump -f\n"
                           "complete -c heapdump -n __heapdump_begins -l help -d 'list the commands'\n"
                           "complete -c heapdump -n __heapdump_begins -l version -d 'print the version'\n"
                           "complete -c heapdump -n '__heapdump_begins; or __heapdump_is --completion' "
                           "-l completion -xa 'bash zsh fish' -d 'completions for a shell'\n"
                           "complete -c heapdump -n '__heapdump_is --version' -l license -d 'and the licence'\n"));
    for (size_t i = 0; i < count; i++) {
        const command *c = &commands[i];
        for (int help = 0; help < 2; help++) {
            display(out, "complete -c heapdump -n %s -a %s -d '",
                    help ? "'__heapdump_is help'" : "__heapdump_begins", c->name);
            put_inside(out, first_line(c->summary), "\\", "\\'");
            display(out, "'\n");
        }
        display(out, c->runs_program ? "complete -c heapdump -n '__heapdump_is %s' -a '(__fish_complete_command)'\n"
                                     : "complete -c heapdump -n '__heapdump_is %s' -F\n", c->name);
        put_options(c, fish_option, out);
    }
    display(out, "complete -c heapdump -n __heapdump_begins -a help -d 'show the options of a command'\n");
}

bool completion_write(const char *shell, const command *commands, size_t count, FILE *out) {
    static const struct {
        const char *name;
        void (*write)(const command *commands, size_t count, FILE *out);
    } shells[] = { { "bash", write_bash }, { "zsh", write_zsh }, { "fish", write_fish } };
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shells[i].name, shell)) return shells[i].write(commands, count, out), true;
    return false;
}
