"""Builds the wheel of unroll (PEP 517): makes the library by its Makefile, compiles one extension with Python's
limited API, and writes both into a zip. Needs make, a C compiler and jansson, and no other package.

CC and CFLAGS are heeded; --config-settings build=FOLDER says where the library's objects are (the Makefile's B)."""

import base64
import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

try:
    import tomllib
except ImportError as error:
    raise SystemExit("unroll needs Python 3.11 or newer") from error

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(HERE, "src", "unroll")       # below src/, so that Python run in HERE finds the installed one
# In the repository, the library is two folders up; in a source distribution, beside us.
ROOT = next(
    root
    for root in (os.path.join(HERE, "library"), os.path.join(HERE, "..", ".."))
    if os.path.exists(os.path.join(root, "include", "unroll.h"))
)
TAG = "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
EXTENSION = "unroll/_core.abi3.so"


def read(*path, root=HERE):
    with open(os.path.join(root, *path), encoding="utf-8") as file:
        return file.read()


def project():
    return tomllib.loads(read("pyproject.toml"))["project"]


def version():
    header = read("include", "unroll.h", root=ROOT)
    return ".".join(re.findall(r"#define UNROLL_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)", header))


def metadata():
    about = project()
    fields = {
        "Metadata-Version": "2.4",
        "Name": about["name"],
        "Version": version(),
        "Summary": about["description"],
        "License-Expression": about["license"],
        "License-File": "LICENSE",
        "Requires-Python": about["requires-python"],
        "Description-Content-Type": "text/markdown",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items()) + "\n" + read("README.md")


# ---- compiling ----


def run(*command):
    print(" ".join(command), file=sys.stderr, flush=True)
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"unroll: '{command[0]}' failed; it needs make, a C compiler, jansson and Python's headers")


def make_library(settings):
    objects = settings.get("build", "build")
    run("make", "-s", "-C", ROOT, f"-j{os.cpu_count() or 1}", f"B={objects}", f"{objects}/libunroll.a")
    return os.path.join(ROOT, objects, "libunroll.a")


def compile_extension(to, settings):
    library = make_library(settings)
    folder = os.path.join(HERE, "extension")
    sources = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".c"))
    include = [f"-I{path}" for path in (os.path.join(ROOT, "include"), sysconfig.get_path("include"))]
    run(
        *shlex.split(os.environ.get("CC", "gcc")),
        *shlex.split(os.environ.get("CFLAGS", "-O2")),
        *"-std=c11 -D_GNU_SOURCE -Wall -Wextra -fPIC -fvisibility=hidden -shared -Wl,--exclude-libs,ALL".split(),
        *include,
        *sources,
        library,
        *shlex.split(subprocess.run(("make", "-s", "-C", ROOT, "libs"), check=True, text=True, capture_output=True).stdout),
        "-o",
        to,
    )


# ---- the wheel ----


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def info_files():
    wheel = f"Wheel-Version: 1.0\nGenerator: unroll_build\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    return {"METADATA": metadata(), "WHEEL": wheel, "licenses/LICENSE": read("LICENSE", root=ROOT)}


def package_files():
    names = sorted(os.listdir(PACKAGE))
    return {f"unroll/{n}": read(n, root=PACKAGE).encode() for n in names if n.endswith((".py", ".pyi", ".typed"))}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    stem = f"unroll-{version()}"
    extension = os.path.join(wheel_directory, "_core.abi3.so")
    compile_extension(extension, config_settings or {})
    content = package_files()
    with open(extension, "rb") as file:
        content[EXTENSION] = file.read()
    os.remove(extension)
    content |= {f"{stem}.dist-info/{name}": text.encode() for name, text in info_files().items()}
    record = f"{stem}.dist-info/RECORD"
    lines = "".join(record_line(name, data) for name, data in content.items())
    content[record] = (lines + f"{record},,\n").encode()
    with zipfile.ZipFile(os.path.join(wheel_directory, f"{stem}-{TAG}.whl"), "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            file = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            file.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            file.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(file, data)
    return f"{stem}-{TAG}.whl"


# ---- the source distribution ----

def makefiles(path="Makefile"):
    """The file and those that it includes."""
    return [path, *(deep for name in re.findall(r"^include (\S+)", read(path, root=ROOT), re.M) for deep in makefiles(name))]


OF_LIBRARY = (*makefiles(), "LICENSE", "include", "src", "tools/cuda_images.sh")
OF_BINDING = ("pyproject.toml", "README.md", "backend", "extension", "src")


def plain(entry):
    keep = not re.search(r"__pycache__|\.so$", entry.name)
    return entry if keep else None


def build_sdist(sdist_directory, config_settings=None):
    stem = f"unroll-{version()}"
    path = os.path.join(sdist_directory, f"{stem}.tar.gz")
    info = os.path.join(sdist_directory, "PKG-INFO")
    with open(info, "w", encoding="utf-8") as file:
        file.write(metadata())
    with tarfile.open(path, "w:gz") as archive:
        archive.add(info, f"{stem}/PKG-INFO")
        for name in OF_BINDING:
            archive.add(os.path.join(HERE, name), f"{stem}/{name}", filter=plain)
        for name in OF_LIBRARY:
            archive.add(os.path.join(ROOT, name), f"{stem}/library/{name}", filter=plain)
    os.remove(info)
    return os.path.basename(path)
