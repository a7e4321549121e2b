"""Takes a snapshot, with allocation tracking, of a page in chromium that holds nodes it removed from its document:
v8_page.py DIRECTORY_OF_BROWSER FILE."""
import os, sys

sys.path.insert(0, sys.argv[1])
from browser import Browser

with open("page.html", "w") as f:
    f.write("""<!DOCTYPE html><title>t</title><body><ul id=list></ul><script>
function addItem(i, list) {
  const li = document.createElement('li'); li.className = 'item'; li.textContent = 'n' + i; list.append(li); return li;
}
function fill() {
  window.leakedItems = [];
  for (let i = 0; i < 7; i++) {
    const li = addItem(i, document.getElementById('list'));
    if (i < 4) { li.remove(); window.leakedItems.push(li); }
  }
}
function tree() {
  const div = document.createElement('div'), span = document.createElement('span');
  span.append('x'); div.append(span); window.held = div;
}
</script></body>""")
with Browser(".", 100) as browser, open(sys.argv[2], "w") as out:
    browser.open("file://" + os.path.abspath("page.html"))
    browser.send("HeapProfiler.enable")
    browser.send("HeapProfiler.startTrackingHeapObjects", trackAllocations=True)
    browser.run("fill(); tree(); 1")
    receive = browser.receive

    def kept():
        message = receive()
        if message.get("method") == "HeapProfiler.addHeapSnapshotChunk": out.write(message["params"]["chunk"])
        return message

    browser.receive = kept
    browser.send("HeapProfiler.stopTrackingHeapObjects", reportProgress=False)
