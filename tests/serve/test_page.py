"""The page of `unroll serve` in Chromium without a screen: it writes text, classifies, draws a forecast, listens to a
microphone, shows errors.
Usage: test_page.py COMMAND [FOLDER]; FOLDER: screenshots are written there."""
# test: args=$B/unroll; seconds=40
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, executable
from client import Server, check, finish, write_sound

binary = os.path.abspath(sys.argv[1])
pictures = sys.argv[2] if len(sys.argv) > 2 else None


def make_sounds(work):
    """Low and high tones in noise: `tones` has a folder for each, `calls` labels of frames; what the microphone hears is high."""
    draw = random.Random(2)
    for i in range(60):
        name, hz = (("low", 300), ("high", 1800))[i % 2]
        before, during, after = (draw.uniform(0.1, 0.5) for _ in range(3))
        tones = [(0, before), (hz * draw.uniform(0.9, 1.1), during), (0, after)]
        write_sound(f"{work}/tones/{name}/{i}.wav", 8000, tones, draw)
        write_sound(f"{work}/calls/{i}.wav", 8000, tones, draw)
        with open(f"{work}/calls/{i}.txt", "w") as file:
            file.write(f"{before:.3f}\t{before + during:.3f}\t{name}\n")
    write_sound(f"{work}/heard.wav", 48000, [(0, 0.3), (1800, 0.4), (0, 0.3)] * 3, draw)


def train(work):
    draw = random.Random(1)
    make_sounds(work)
    with open(f"{work}/book.txt", "w") as file:
        file.write("The rain falls on the quiet town. The wind sings to the sea.\n" * 60)
    with open(f"{work}/mood.csv", "w") as file:
        file.write("text,mood\n" + "".join(f"{draw.choice(['what a', 'such a', 'a very'])} {word} day,{mood}\n" for _ in range(40)
                                           for word, mood in (("sunny", "glad"), ("grim", "sad"))))
    table = "day,sold\n" + "".join(f"{t},{100 + 30 * math.sin(t / 7 * 2 * math.pi) + draw.uniform(0, 8):.1f}\n" for t in range(210))
    with open(f"{work}/sales.csv", "w") as file:
        file.write(table)
    for words in (["book.txt", "--hidden", "64", "--steps", "150", "--lr", "0.01", "--batch", "4", "--bptt", "32"],
                  ["mood.csv", "--target", "mood", "--hidden", "16", "--epochs", "10"],
                  ["tones", "--hidden", "16", "--epochs", "30"], ["calls", "--hidden", "16", "--epochs", "30", "--streaming"],
                  ["sales.csv", "--task", "forecast", "--target", "sold", "--horizon", "14", "--hidden", "24", "--epochs", "10"]):
        subprocess.run([binary, "train", *words, "--quiet", "--out", "runs/" + words[0].split(".")[0]], cwd=work, check=True, capture_output=True)
    return table


def press(page, model, name):
    page.until("!!document.querySelector('h2')")      # what is shown first
    page.ask("document.querySelector('h2').remove()")
    page.ask(f"[...document.querySelectorAll('#models button')].find(b => b.textContent === '{model}').click()")
    check(f"the panel of {model}", page.until(f"document.querySelector('h2')?.textContent === '{model} ({name})'"))


def listen(page):
    """The microphone plays a file: high tones in noise."""
    press(page, "tones", "classify")
    page.ask("document.querySelector('#go').click()")
    check("a sound is classified", page.until("document.querySelector('.bar span')?.textContent === 'high'"), page.ask("document.querySelector('#main').innerText"))
    check("the browser records on", page.ask("document.querySelector('#go').textContent") == "Stop")
    page.save(pictures, "serving-sound.png")
    press(page, "calls", "tag")
    page.ask("document.querySelector('#go').click()")
    seen = "(document.querySelector('#spans')?.textContent || '').split('\\n')"
    check("frames are labeled", page.until(f"{seen}.filter(x => x.endsWith(': high')).length > 1 && {seen}.some(x => x.endsWith(': none'))"), page.ask("document.querySelector('#main').innerText"))
    check("with times", page.ask(seen + ".every(x => /^\\d+\\.\\d\\d – \\d+\\.\\d\\d s: (high|low|none)$/.test(x))"), page.ask(seen))
    page.save(pictures, "serving-calls.png")
    page.ask("document.querySelector('#go').click()")
    check("and it stops", page.until("document.querySelector('#go').textContent === 'Listen'"))


def use(page, server, table):
    page.call("Page.navigate", url=f"http://127.0.0.1:{server.port}/")
    check("the models are listed", page.until("document.querySelectorAll('#models button').length === 5"))
    listen(page)
    press(page, "book", "lm")
    page.ask("document.querySelector('textarea').value = 'The '; document.querySelector('input[type=number]').value = 160; document.querySelector('#go').click()")
    check("a text is written", page.until("document.querySelector('#out')?.dataset.done && document.querySelector('#out').textContent.length >= 160"),
          page.ask("document.querySelector('#main').innerText"))
    check("it is the text of the model", page.ask("document.querySelector('#out').textContent.startsWith('The ')"))
    check("the load is shown", page.until("/requests\\/s/.test(document.querySelector('#live').textContent)"))
    page.save(pictures, "serving-text.png")
    press(page, "mood", "classify")
    page.ask("document.querySelector('#rows').value = 'what a grim day'; document.querySelector('#go').click()")
    check("a text is classified", page.until("document.querySelectorAll('.bar').length === 2"))
    check("with its label first", page.ask("document.querySelector('.bar span').textContent") == "sad")
    page.save(pictures, "serving-class.png")
    press(page, "sales", "forecast")
    page.ask(f"document.querySelector('#rows').value = {json.dumps(table)}; document.querySelector('#go').click()")
    check("a forecast is drawn", page.until("document.querySelectorAll('#out svg polyline').length === 2"))
    points = page.ask("document.querySelectorAll('#out svg polyline')[1].getAttribute('points').split(' ').length")
    check("of as many steps as the horizon", points == 15, points)
    band = page.ask("document.querySelector('#out svg polygon').getAttribute('points').split(' ').length")
    check("with its interval", band == 28, band)
    page.ask("scrollTo(0, 1e6)")
    page.save(pictures, "serving-forecast.png")
    page.ask("document.querySelector('#rows').value = 'nothing\\n1'; document.querySelector('#go').click()")
    check("an error is shown with its fix", page.until("/fix: /.test(document.querySelector('#out .error')?.textContent)"))
    check("nothing was loaded from elsewhere", page.ask(
        "performance.getEntriesByType('resource').every(r => r.name.replace('blob:', '').startsWith(location.origin) || r.name.startsWith('data:'))"))


def main():
    if not executable:
        print("skipped: there is no chromium\npage: 0 passed, 0 failed, 1 skipped")
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        if "libwebsockets was not found" in subprocess.run([binary, "serve", "none"], capture_output=True, text=True).stderr:
            print("skipped: the server wants libwebsockets-dev\npage: 0 passed, 0 failed, 1 skipped")
            return
        table = train(work)
        with Server(binary, *(f"runs/{name}" for name in ("book", "mood", "sales", "tones", "calls")), folder=work) as server:
            page = Browser(work, "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
                           f"--use-file-for-fake-audio-capture={work}/heard.wav")
            try:
                use(page, server, table)
            finally:
                page.end()
    finish("page")


main()
