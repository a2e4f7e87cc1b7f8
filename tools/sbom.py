#!/usr/bin/env python3
"""Writes the software bill of materials of a release (SPDX 2.3, JSON): the files with their checksums, and the libraries
that are inside. sbom.py SOURCES FILE... >unroll.spdx.json

SOURCES: the folder with the unpacked sources of dependencies.sh. The date is SOURCE_DATE_EPOCH, if set."""

import datetime
import hashlib
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Library, license, file and expression that has its version.
INSIDE = (
    ("jansson", "MIT", "src/jansson.h", r'define JANSSON_VERSION\s+"([^"]+)"'),
    ("libarchive", "BSD-2-Clause", "libarchive/archive.h", r'define\s+ARCHIVE_VERSION_ONLY_STRING\s+"([^"]+)"'),
    ("zlib", "Zlib", "zlib.h", r'define ZLIB_VERSION "([^"]+)"'),
    ("xz-utils", "LicenseRef-public-domain", "src/liblzma/api/lzma/version.h", r"define LZMA_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)"),
    ("bzip2", "bzip2-1.0.6", "bzlib_private.h", r'define BZ_VERSION\s+"([0-9.]+)'),
    ("libzstd", "BSD-3-Clause", "lib/zstd.h", r"define ZSTD_VERSION_(?:MAJOR|MINOR|RELEASE)\s+(\d+)"),
)


def found(path, pattern):
    with open(path, encoding="utf-8", errors="replace") as file:
        numbers = re.findall(pattern, file.read())
    if not numbers:
        raise SystemExit(f"error: {path} has no version; fix: give the folder of the sources that were compiled")
    return ".".join(numbers)


def package(name, version, license_name):
    return {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "licenseConcluded": license_name,
            "licenseDeclared": license_name, "copyrightText": "NOASSERTION", "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False}


def file_entry(number, path):
    with open(path, "rb") as file:
        content = file.read()
    sums = [{"algorithm": a.upper(), "checksumValue": hashlib.new(a, content).hexdigest()} for a in ("sha1", "sha256")]
    return {"SPDXID": f"SPDXRef-file-{number}", "fileName": "./" + os.path.basename(path), "checksums": sums,
            "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION"}


def main():
    if len(sys.argv) < 3:
        raise SystemExit("error: sbom.py wants the folder of the sources and files; fix: sbom.py build/static/sources FILE")
    sources, paths = sys.argv[1], sys.argv[2:]
    version = found(os.path.join(ROOT, "include", "unroll.h"), r"define UNROLL_VERSION_(?:MAJOR|MINOR|PATCH)\s+(\d+)")
    packages = [package("unroll", version, "MIT")]
    packages += [package(n, found(os.path.join(sources, n, f), p), l) for n, l, f, p in INSIDE]
    files = [file_entry(number, path) for number, path in enumerate(paths)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-unroll")]
    relations += [("SPDXRef-unroll", "CONTAINS", p["SPDXID"]) for p in packages[1:]]
    relations += [(f["SPDXID"], "GENERATED_FROM", "SPDXRef-unroll") for f in files]
    digest = hashlib.sha256("".join(f["checksums"][1]["checksumValue"] for f in files).encode()).hexdigest()
    date = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
    json.dump({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"unroll-{version}",
        "documentNamespace": f"https://unroll.example.org/spdx/{digest}",
        "creationInfo": {"created": date.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tools/sbom.py"]},
        "hasExtractedLicensingInfos": [{"licenseId": "LicenseRef-public-domain", "extractedText": "Public domain."}],
        "packages": packages, "files": files,
        "relationships": [dict(zip(("spdxElementId", "relationshipType", "relatedSpdxElement"), r)) for r in relations],
    }, sys.stdout, indent=2)
    print()


main()
