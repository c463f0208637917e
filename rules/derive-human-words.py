#!/usr/bin/env python3
"""Derives human-words.txt: words that stand where products stand in people's headers.

A token of robots.txt that is one of these words never turns a browser into a
crawler. The words are facts taken from headers of browsers and apps; no header
is copied. The headers come from public collections:

- the npm package user-agents, https://www.npmjs.com/package/user-agents
- Matomo device-detector, https://github.com/matomo-org/device-detector
- CrawlerDetect, https://github.com/JayBizzle/Crawler-Detect
- crawler-user-agents, https://github.com/monperrus/crawler-user-agents
- isbot, https://github.com/omrilotan/isbot
- Woothee, https://github.com/woothee/woothee
- uap-core, https://github.com/ua-parser/uap-core

Usage: ROBOTS_GATEWAY_CORPUS=folder derive-human-words.py > human-words.txt
The folder holds ua/browsers.jsonl and ua/apps.jsonl, one {"ua": "..."} a line, and
ua/human_product_tokens.json, the words of a larger draw from the same collections.
"""

import json
import os
import re
import sys
from pathlib import Path

# A product as RFC 9110 section 10.1.5 writes it: a word, a slash, a version.
PRODUCT = re.compile(r"(?:^|[ ;(\"'])([A-Za-z][A-Za-z0-9._!-]{1,38})/")
# Words that say "crawler" are no words of people, whoever uses them.
CRAWLER = re.compile(r"bot|crawl|spider|slurp|scrap|archiv|headless|curl|wget|python|perl|fetch", re.IGNORECASE)
# Phones that open a header with their model: marks of devices, known without this list.
MODEL = re.compile(
    r"^(?:nokia|samsung|sec-|sgh|sch-|sph-|gt-|sm-|shv-|lge?[-_\d]|lg[a-z]*\d|mot-|sie-|sonyericsson|htc[_-]|huawei|zte"
    r"|alcatel|sagem|sagetel|lenovo|kwc-|blackberry|sprd|micromax|karbonn|benq|amoi|panasonic|philips|sharp|toshiba"
    r"|gionee|coolpad|haier|asus|acer|dopod|o2-|qc-|vk-|tecno|oppo|vivo|xiaomi|ucweb\d|ucbrowser\d|browser\d|uc\d)",
    re.IGNORECASE,
)
# Browsers and add-ons that are newer than the collections.
RECENT = (
    "comet perplexity copilot zotero cobalt starboard atlas dia arc zen chatgpt gemini claude grok"
    " ladybird floorp waterfox librewolf duckduckgo ecosia"
)


def kept(word: str) -> bool:
    """Whether the word is worth a line: no crawler's word, no phone model, no version."""
    plain = re.fullmatch(r"[a-z][a-z0-9._!-]{1,38}", word) and not re.search(r"\d{3}", word)
    return bool(plain) and not CRAWLER.search(word) and not MODEL.match(word)


def words(file: Path) -> set[str]:
    found = set()
    for line in file.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if "library" not in record.get("class", ""):
            found.update(word.strip(".-_!").lower() for word in PRODUCT.findall(record["ua"]))
    return found


def main() -> None:
    folder = os.environ.get("ROBOTS_GATEWAY_CORPUS")
    if not folder:
        sys.exit("ROBOTS_GATEWAY_CORPUS is not set")
    headers = Path(folder) / "ua"
    found = words(headers / "browsers.jsonl") | words(headers / "apps.jsonl")
    found.update(json.loads((headers / "human_product_tokens.json").read_text(encoding="utf-8")))
    found.update(RECENT.split())
    print("# Words that stand where products stand in people's headers, in lower case.")
    print("# A token of robots.txt that is one of them never turns a browser into a crawler.")
    print("# Written by derive-human-words.py, which names the sources.")
    print("\n".join(sorted(filter(kept, found))))


if __name__ == "__main__":
    main()
