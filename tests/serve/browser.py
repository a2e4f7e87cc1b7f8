"""Chromium without a screen, for tests of pages."""
import base64
import json
import os
import shutil
import subprocess

from client import LIMIT, WebSocket, wait_for

executable = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser(WebSocket):
    """The developer tools of Chromium."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen([executable, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--window-size=900,640",
                                         f"--user-data-dir={folder}/profile", *options, "about:blank"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        active = os.path.join(folder, "profile", "DevToolsActivePort")
        found = wait_for(lambda: os.path.exists(active) and open(active).read().split("\n"))
        self.number, self.session = 0, None
        self.connect(("127.0.0.1", int(found[0])), found[1])
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.send(json.dumps(message).encode(), kind=1)
        while (answer := json.loads(self.receive())).get("id") != self.number:
            pass
        return answer["result"]

    def ask(self, code):
        return self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)["result"].get("value")

    def until(self, code):
        return wait_for(lambda: self.ask(code))

    def save(self, folder, name):
        """Writes a screenshot, if a folder is given."""
        if folder:
            picture = self.call("Page.captureScreenshot", format="png")["data"]
            with open(os.path.join(folder, name), "wb") as file:
                file.write(base64.b64decode(picture))

    def end(self):
        self.process.terminate()
        self.process.wait(LIMIT)
