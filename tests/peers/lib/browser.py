"""Runs Debian's chromium without a window and drives it over the DevTools protocol. A pipe carries it: chromium reads
commands from file 3 and answers on file 4, as JSON that ends with NUL. It uses no code of ours."""
import base64, json, os, shutil, subprocess, sys, tempfile, threading

class Browser:
    def __init__(self, directory, seconds=600):
        to_browser, self.commands = os.pipe()
        answers, from_browser = os.pipe()
        self.profile = tempfile.mkdtemp(dir=directory)
        def place():
            os.setsid()
            a, b = os.dup(to_browser), os.dup(from_browser)   # must not be 3 or 4
            os.dup2(a, 3), os.dup2(b, 4)
        log = open(os.path.join(directory, 'chromium.log'), 'w')
        self.process = subprocess.Popen(['chromium', '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--hide-scrollbars',
            '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-breakpad',
            '--user-data-dir=' + self.profile, '--remote-debugging-pipe', 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=place, close_fds=False)
        os.close(to_browser), os.close(from_browser)
        self.late = threading.Timer(seconds, lambda: os.killpg(self.process.pid, 9))
        self.late.start()
        self.answers, self.last, self.session, self.said, self.asked = os.fdopen(answers, 'rb'), 0, None, [], []

    def __enter__(self): return self

    def __exit__(self, *_):
        self.late.cancel()
        try: os.killpg(self.process.pid, 9)
        except ProcessLookupError: pass
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        message = bytearray()
        while (c := self.answers.read(1)) != b'\0':
            if not c: sys.exit('FAIL: chromium ended')
            message += c
        m = json.loads(message)
        method, p = m.get('method'), m.get('params', {})
        if method == 'Runtime.consoleAPICalled': self.said.append(p['type'] + ': ' + ' '.join(str(a.get('value', a.get('description'))) for a in p['args']))
        if method == 'Runtime.exceptionThrown': self.said.append(p['exceptionDetails'].get('exception', {}).get('description', str(p)))
        if method == 'Log.entryAdded': self.said.append(p['entry']['level'] + ': ' + p['entry']['text'])
        if method == 'Network.requestWillBeSent': self.asked.append(p['request']['url'])
        if method == 'Page.javascriptDialogOpening':
            self.said.append('dialog: ' + p['message'])
            self.post('Page.handleJavaScriptDialog', accept=True)
        return m

    def post(self, method, **params):
        self.last += 1
        message = {'id': self.last, 'method': method, 'params': params}
        if self.session: message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data: data = data[os.write(self.commands, data):]
        return self.last

    def send(self, method, **params):
        id = self.post(method, **params)
        while (m := self.receive()).get('id') != id: pass
        if 'error' in m: sys.exit('FAIL: ' + method + ': ' + str(m['error']))
        return m['result']

    def wait(self, method):
        """The parameters of the next event with this name."""
        while (m := self.receive()).get('method') != method: pass
        return m['params']

    def open(self, url, width=1280, height=900):
        """Opens a page in place of the previous one; its messages and requests are kept in self.said and
        self.asked."""
        self.session = None
        target = self.send('Target.createTarget', url='about:blank')['targetId']
        self.session = self.send('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        self.said.clear(), self.asked.clear()
        for domain in 'Runtime', 'Log', 'Page', 'Network': self.send(domain + '.enable')
        self.send('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.post('Page.navigate', url=url)
        self.wait('Page.loadEventFired')

    def run(self, script):
        r = self.send('Runtime.evaluate', expression=script, awaitPromise=True, returnByValue=True)
        if 'exceptionDetails' in r: sys.exit('FAIL: ' + script + ': ' + str(r['exceptionDetails'].get('exception', {}).get('description')))
        return r['result'].get('value')

    def key(self, key, text=None):
        codes = {'Enter': 13, 'Escape': 27, 'Backspace': 8, 'ArrowLeft': 37, 'ArrowUp': 38, 'ArrowRight': 39, 'ArrowDown': 40, 'Tab': 9}
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = text or (key if len(key) == 1 else '\r' if key == 'Enter' else None)
        more = {'text': text} if text else {}
        self.send('Input.dispatchKeyEvent', type='keyDown', key=key, windowsVirtualKeyCode=code, **more)
        self.send('Input.dispatchKeyEvent', type='keyUp', key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        for c in text: self.key(c)

    def theme(self, scheme):
        self.send('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def picture(self, path, whole=False):
        data = self.send('Page.captureScreenshot', format='png', captureBeyondViewport=whole, **({'clip': self.whole()} if whole else {}))['data']
        open(path, 'wb').write(base64.b64decode(data))

    def whole(self):
        size = self.send('Page.getLayoutMetrics')['cssContentSize']
        return {'x': 0, 'y': 0, 'width': size['width'], 'height': min(size['height'], 4000), 'scale': 1}
