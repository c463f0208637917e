#!/usr/bin/env python3
"""Makes a large combined log of a small one: `generate.py SAMPLE LINES > big.log`.

The sample's lines are repeated in their order. With each round the times move on by the sample's span and the last
number of each address changes, so that clients and times are as many as in a log of that size. Headers and targets
stay as they are: they are what the time goes into, and theirs is the mixture of a real site.
"""

import calendar
import gzip
import re
import sys
import time

LINE = re.compile(rb"^(\S+)( .*?\[)([^\]]{26})(\].*)$")
FORM = "%d/%b/%Y:%H:%M:%S"


def main():
    sample, wanted = sys.argv[1], int(sys.argv[2])
    start = open(sample, "rb").read(2)
    opened = gzip.open if start == b"\x1f\x8b" else open
    parsed = []
    for line in opened(sample, "rb").read().splitlines():
        match = LINE.match(line)
        if match:
            address, before, stamp, rest = match.groups()
            seconds = calendar.timegm(time.strptime(stamp.decode()[:20], FORM))
            parsed.append((address.rsplit(b".", 1)[0], before, seconds, rest))
    times = [seconds for _, _, seconds, _ in parsed]
    span = max(times) - min(times) + 1
    out = sys.stdout.buffer
    written, round_ = 0, 0
    while written < wanted:
        known, lines = {}, []
        for network, before, seconds, rest in parsed[: wanted - written]:
            stamp = known.get(seconds)
            if stamp is None:
                moved = time.gmtime(seconds + round_ * span)
                stamp = known[seconds] = (time.strftime(FORM, moved) + " +0000").encode()
            lines.append(b"%b.%d%b%b%b\n" % (network, round_ % 250 + 1, before, stamp, rest))
        out.write(b"".join(lines))
        written += len(lines)
        round_ += 1


main()
