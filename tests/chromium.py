"""
A Chromium without a window, driven as DevTools do: over two pipes, by messages of JSON that end
with a zero byte.
"""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 60  # seconds for an answer
WIDTH, HEIGHT = 1400, 900  # pixels of the window
READY = "document.documentElement.dataset.ready === 'yes'"  # the page's script has come to its end


def high(descriptor):
    """The same with a number that is none of those that Chromium uses."""
    other = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 20)
    os.close(descriptor)
    return other


class Chromium:
    """One window. `complaints` has what the page has written to the console,
    and its exceptions."""

    def __init__(self, home):
        (commands, self.to), (self.back, answers) = (map(high, os.pipe()) for _ in range(2))
        self.program = subprocess.Popen(
            [
                "bash",
                "-c",
                f'exec "$@" 3<&{commands} 4>&{answers}',
                "bash",
                PROGRAM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--disable-features=BackForwardCache",
                f"--user-data-dir={home}",
                "--remote-debugging-pipe",
            ],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.numbers, self.read, self.session, self.complaints = itertools.count(1), b"", None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")
        self.size(WIDTH, HEIGHT)

    def message(self):
        """The next message of Chromium."""
        while b"\0" not in self.read:
            assert select.select([self.back], [], [], PATIENCE)[0], "Chromium does not answer"
            more = os.read(self.back, 1 << 20)
            assert more, "Chromium has ended"
            self.read += more
        text, self.read = self.read.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        """The answer to a command; what else comes before it goes to `complaints`."""
        number = next(self.numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.to, json.dumps(command).encode() + b"\0")
        while True:
            message = self.message()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            if message.get("method") in (
                "Runtime.consoleAPICalled",
                "Runtime.exceptionThrown",
                "Log.entryAdded",
            ):
                self.complaints.append(message["params"])

    def run(self, script):
        """The value of an expression in the page, or of its promise."""
        result = self.ask(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def open(self, path):
        """Open a page, and wait for the end of its script. Returns what it complained about."""
        self.complaints.clear()
        assert "errorText" not in self.ask("Page.navigate", url=path.resolve().as_uri())
        until = time.monotonic() + PATIENCE
        while not self.run(f"document.readyState === 'complete' && {READY}"):
            if self.complaints or time.monotonic() > until:
                return [*self.complaints, "the page's script has not come to its end"]
            time.sleep(0.02)
        return self.complaints

    def press(self, key):
        """Press a key and let it go."""
        text = {"text": key if len(key) == 1 else "\r"} if key != "Tab" and len(key) < 6 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def mouse(self, kind, x, y, **parameters):
        """Move the mouse, or press and release its left button: mouseMoved, mousePressed,
        mouseReleased."""
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button, **parameters)

    def size(self, width, height):
        """Make the window this large. A new one has a single pixel."""
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def picture(self, path):
        """A picture of what the window shows."""
        self.run("new Promise(done => setTimeout(done, 50))")
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))

    def colours(self, name):
        """Let the user prefer "dark" or "light" pages."""
        self.ask(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": name}],
        )

    @contextlib.contextmanager
    def paper(self, width, height):
        """Within this block, the window shows the page as it is printed on paper of this size,
        pixels of CSS."""
        self.size(width, height)
        self.ask("Emulation.setEmulatedMedia", media="print")
        self.run("dispatchEvent(new Event('beforeprint'))")
        yield
        self.run("dispatchEvent(new Event('afterprint'))")
        self.ask("Emulation.setEmulatedMedia", media="")
        self.size(WIDTH, HEIGHT)

    def print(self, path):
        """The page as PDF."""
        data = self.ask("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def end(self):
        os.close(self.to)
        os.close(self.back)
        try:
            self.program.wait(10)
        except subprocess.TimeoutExpired:
            self.program.kill()
            self.program.wait()


@contextlib.contextmanager
def window():
    """A window for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="smcr-chromium-", ignore_cleanup_errors=True) as home:
        chromium = Chromium(home)
        try:
            yield chromium
        finally:
            chromium.end()
