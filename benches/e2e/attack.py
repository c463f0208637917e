"""A well-behaved client while others attack.

The gateway has the first processor to itself; attackers, client and origin share the rest. Attackers are bounded in rate, so
that they take no time from the client: what grows is what the gateway makes it wait. Every run has a gateway of its own,
asked first in quiet and then under attack, so that each is compared with itself.
"""

import glob
import itertools
import multiprocessing
import os
import random
import socket
import ssl
import struct
import threading
import time
from statistics import median

# How much longer the slowest hundredth may take under attack, and what is fast enough however quiet it was before, in
# milliseconds; and the most memory that the gateway may take, in bytes.
FACTOR, FAST_ENOUGH, MOST_MEMORY = 3, 20, 250_000_000
# No attack lasts longer than this, and an attacker waits no longer for the gateway at any one point; in seconds.
LONGEST, PATIENCE = 120, 2

BROWSER = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
HEAD = b"GET /page HTTP/1.1\r\nHost: e2e.example\r\nUser-Agent: " + BROWSER.encode() + b"\r\n"
CLOSED = (ConnectionError, ssl.SSLError)

# Each with a fault (RFC 9112 §2.2, §5, §6 and §7).
MALFORMED = [
    b"POST / HTTP/1.1\r\nHost: e\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n",
    b"POST / HTTP/1.1\r\nHost: e\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    b"POST / HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"POST / HTTP/1.1\r\nHost: e\r\nContent-Length: +5\r\n\r\nhello",
    b"GET / HTTP/1.1\nHost: e\n\n",
    b"GET / HTTP/1.1\r\nHost: e\r\nHost: f\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : e\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: e\r\nX: a\r\n b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: e\r\nX: \0\r\n\r\n",
]

# The thumbprint of a key (RFC 8037 §A.3), and the file of an agent of the catalogue by which the gateway knows it.
KNOWN_KEY = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
KEY_FILE = "chatgpt.com_.well-known_http-message-signatures-directory"
KEYS = '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'


class Siege:
    """An attack, as the attackers see it."""

    def __init__(self, plain, tls):
        self.plain, self.tls = plain, tls
        self.is_over, self.is_under_way, self.lock = threading.Event(), threading.Event(), threading.Lock()
        self.opened = self.closed = 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.context.set_alpn_protocols(["h2"])

    def connect(self, port, source):
        """A new connection from one of many addresses of this machine."""
        client = socket.socket()
        client.settimeout(PATIENCE)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            client.bind((f"127.1.0.{1 + source}", 0))
            client.connect(("127.0.0.1", port))
        except BaseException:
            client.close()
            raise
        with self.lock:
            self.opened += 1
        return client

    def was_closed(self):
        with self.lock:
            self.closed += 1


def crowd(size, addresses, opening=b"", drip=b"", per_second=2000, both=False):
    """Connections by number, held open: each sends its opening, and from then on the drip once a second. One that the gateway
    closes is opened again."""
    def wage(siege):
        ports = [siege.plain, siege.tls] if both else [siege.plain]
        members, numbers, due = [], itertools.count(), time.monotonic()
        for turn in itertools.cycle(range(100)):
            if siege.is_over.is_set():
                return
            for _ in range(min(per_second // 100, size - len(members))):
                number = next(numbers)
                if number >= size - 1:
                    # Where the gateway takes fewer, these are all there will be.
                    siege.is_under_way.set()
                try:
                    client = siege.connect(ports[number % len(ports)], number % addresses)
                    client.sendall(opening)
                except (ConnectionError, TimeoutError):
                    continue
                client.setblocking(False)
                members.append(client)
            for at in range(len(members) - 1 - turn, -1, -100):
                client = members[at]
                try:
                    is_open = client.recv(4096) != b""
                except BlockingIOError:
                    is_open = True
                except ConnectionError:
                    is_open = False
                try:
                    if is_open and drip:
                        client.sendall(drip)
                except OSError:
                    is_open = False
                if not is_open:
                    client.close()
                    members[at] = members[-1]
                    members.pop()
                    siege.was_closed()
            due = max(due + 0.01, time.monotonic())
            siege.is_over.wait(due - time.monotonic())
    return wage


def flood(per_second, blow, secure=None, leaves=False, threads=8):
    """Connections by rate: each sends a blow's pieces, and then reads until the gateway ends it, or leaves after an answer. With
    `secure` they go to the port for TLS, and where it is true they speak it."""
    def strike(siege, worker):
        due = time.monotonic() + worker / per_second
        for number in itertools.count(worker, threads):
            if siege.is_over.wait(max(0, due - time.monotonic())):
                return
            client = None
            try:
                client = siege.connect(siege.plain if secure is None else siege.tls, number % 16)
                if secure:
                    client = siege.context.wrap_socket(client, server_hostname="e2e.example")
                for piece in blow(siege, number):
                    client.sendall(piece)
                while (is_open := client.recv(16384) != b"") and not leaves:
                    pass
                if not is_open:
                    siege.was_closed()
            except TimeoutError:
                # The gateway was given its time and did nothing.
                pass
            except CLOSED:
                siege.was_closed()
            finally:
                if client:
                    client.close()
            # Who was held up does not make up for it: the rate is a bound.
            due = max(due + threads / per_second, time.monotonic())
            siege.is_under_way.set()

    def wage(siege):
        workers = [threading.Thread(target=strike, args=(siege, worker)) for worker in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return wage


def row(request, count=200):
    """Requests in one piece; the last one closes."""
    requests = [request(at) for at in range(1, count + 1)]
    return [b"".join([one + b"\r\n" for one in requests[:-1]] + [requests[-1], b"Connection: close\r\n\r\n"])]


def pipelined(_, number):
    targets = [b"/robots.txt", b"/page"]
    return row(lambda at: b"GET " + targets[at % 2] + b" HTTP/1.1\r\nHost: e2e.example\r\n")


def signed(key):
    """Each request signed wrongly, and no two alike."""
    def blow(_, number):
        now = int(time.time())
        return row(lambda at: HEAD + (
            'Signature-Agent: "https://chatgpt.com"\r\nSignature-Input: sig1=("@authority" "@method" "@path" "signature-agent");'
            f'created={now};expires={now + 300};keyid="{key}";nonce="{number}-{at}";tag="web-bot-auth"\r\n'
            f'Signature: sig1=:{"A" * 86}==:\r\n').encode())
    return blow


def garbage(_, number):
    """The same in every run; every second time behind the head of a handshake record (RFC 8446 §5.1)."""
    return [b"\x16\x03\x01\x02\x00\x01" * (number // 8 % 2) + random.Random(number).randbytes(2048)]


def abandoned(siege, _):
    """The first flight of a handshake; what has to follow the gateway's never comes."""
    outgoing = ssl.MemoryBIO()
    client = siege.context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="e2e.example")
    try:
        client.do_handshake()
    except ssl.SSLWantReadError:
        return [outgoing.read()]


# Frame types and flags (RFC 9113 §6); `:method GET`, `:scheme https`, `:path /` and `:authority` (RFC 7541 §6).
HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION, END_STREAM, END_HEADERS = 1, 3, 4, 6, 9, 1, 4
FIELDS = b"\x82\x87\x84\x41\x0be2e.example"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def http2(piece):
    """Says hello, then sends pieces: together far more than is allowed."""
    hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, 0, 0)
    return lambda _, number: itertools.chain([hello], map(piece, range(40)))


def rapid_reset(at):
    """50 streams that are opened and cancelled at once (CVE-2023-44487)."""
    streams = range(at * 100 + 1, at * 100 + 101, 2)
    cancel = struct.pack(">I", 8)
    return b"".join(frame(HEADERS, END_STREAM | END_HEADERS, one, FIELDS) + frame(RST_STREAM, 0, one, cancel) for one in streams)


def continuation(at):
    """16 KiB of a head that never ends."""
    field = b"\x00\x05x-big\x7f\x81\x1f" + b"x" * 4096
    return frame(HEADERS, 0, 1, FIELDS + field) if at == 0 else frame(CONTINUATION, 0, 1, field * 3)


SLOW_HEAD = HEAD + b"X-Filling: " + b"x" * 4000
SLOW_BODY = b"POST /upload HTTP/1.1\r\nHost: e2e.example\r\nContent-Length: 1000000\r\n\r\n"
LARGE_HEAD = [b"GET / HTTP/1.1\r\nHost: e2e.example\r\n"] + [b"X-Filling: " + b"x" * 4000 + b"\r\n"] * 260
CONTROL = (frame(PING, 0, 0, b"\7" * 8) + frame(SETTINGS, 0, 0)) * 50

# What each does, how many connections it has to open, without which it did not take place, and how it is waged. Its bounds
# are part of what it is: with more of it, the attackers' processor is what gives in.
ATTACKS = {
    "slow heads": ("2,000 connections, 4 KiB of a head and then a byte a second", 2000, crowd(2000, 8, SLOW_HEAD, b"x")),
    "slow bodies": ("2,000 connections, a byte of a body a second", 2000, crowd(2000, 8, SLOW_BODY, b"x")),
    "silence": ("4,000 connections that send nothing, half of them where TLS is spoken", 4000, crowd(4000, 16, both=True)),
    "idle connections": ("15,000 that were answered once, from 60 addresses, at most 3,000 new ones a second", 15_000,
                         crowd(15_000, 60, HEAD + b"\r\n", per_second=3000)),
    "one address": ("one address opens 2,000 connections a second and keeps what it gets", 2000, crowd(4000, 1)),
    "1 MiB heads": ("100 heads of 1 MiB a second", 20, flood(100, lambda *_: LARGE_HEAD)),
    "pipelining": ("25 times a second 200 requests in one piece", 20, flood(25, pipelined)),
    "malformed": ("2,000 malformed requests a second, on connections of their own", 200,
                  flood(2000, lambda _, number: [MALFORMED[number % len(MALFORMED)]])),
    "wrong signatures": ("10,000 requests a second, 200 in one piece, each with a wrong signature of its own by a key that is "
                         "known", 20, flood(50, signed(KNOWN_KEY))),
    "unknown signers": ("the same by a key that is not known", 20, flood(50, signed("unknown"))),
    "rapid reset": ("50 HTTP/2 connections a second, up to 2,000 streams opened and cancelled on each", 20,
                    flood(50, http2(rapid_reset), secure=True)),
    "PING, SETTINGS": ("50 HTTP/2 connections a second, up to 4,000 PING and SETTINGS frames on each", 20,
                       flood(50, http2(lambda _: CONTROL), secure=True)),
    "CONTINUATION": ("50 HTTP/2 connections a second, up to 480 KiB of a head without an end on each", 20,
                     flood(50, http2(continuation), secure=True)),
    "TLS garbage": ("1,000 connections a second with 2 KiB that are no handshake", 100, flood(1000, garbage, secure=False)),
    "TLS abandoned": ("500 handshakes a second, left after the gateway's answer", 50, flood(500, abandoned, secure=False, leaves=True)),
}


def besiege(name, ports, pipe):
    """The process of the attackers: says when the attack is under way, and goes on until it is told to end."""
    os.sched_setaffinity(0, range(min(1, os.cpu_count() - 1), os.cpu_count()))
    siege = Siege(*ports)
    faults = []

    def wage():
        try:
            ATTACKS[name][2](siege)
        except OSError as error:
            # The attackers' own limits would make it a weaker attack.
            faults.append(error)
        siege.is_under_way.set()

    waged = threading.Thread(target=wage)
    waged.start()
    siege.is_under_way.wait()
    pipe.send("under way")
    pipe.poll(LONGEST)
    siege.is_over.set()
    waged.join()
    pipe.send((siege.opened, siege.closed, faults))


def visit(port, seconds, pipe):
    """The process of the well-behaved client: four visitors, each with a request every 10 ms, two on a connection that they
    keep. A request's time runs from when it was due, so that a stall of the gateway counts for every request it delays. Sends
    the 99th percentile in milliseconds, and how many failed."""
    os.sched_setaffinity(0, range(min(1, os.cpu_count() - 1), os.cpu_count()))
    times, failed = [], []

    def visitor(keeps):
        client, start = None, time.monotonic()
        for due in (start + at / 100 for at in range(seconds * 100)):
            time.sleep(max(0, due - time.monotonic()))
            try:
                client = client or socket.create_connection(("127.0.0.1", port), 5)
                client.sendall(HEAD + (b"\r\n" if keeps else b"Connection: close\r\n\r\n"))
                answer = b""
                while len(answer.partition(b"\r\n\r\n")[2]) < 1024:
                    piece = client.recv(4096)
                    if not piece:
                        raise ConnectionError
                    answer += piece
                head = answer.partition(b"\r\n\r\n")[0].lower()
                if not head.startswith(b"http/1.1 200 ") or b"\r\nx-origin: e2e" not in head:
                    raise ConnectionError
                times.append(time.monotonic() - due)
                is_last = not keeps or b"\r\nconnection: close" in head
            except OSError as error:
                failed.append(error)
                is_last = True
            if is_last and client:
                client.close()
                client = None

    visitors = [threading.Thread(target=visitor, args=(keeps,)) for keeps in (False, False, True, True)]
    for one in visitors:
        one.start()
    for one in visitors:
        one.join()
    pipe.send((sorted(times)[len(times) * 99 // 100] * 1e3 if times else 5e3, len(failed)))


def beside(target, *arguments):
    """A process of its own, since one of Python's runs one thread at a time."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=target, args=(*arguments, theirs), daemon=True)
    process.start()
    return ours


def kept_waiting(pid):
    """Seconds for which the gateway's workers were ready to run while others had the processor (schedstat's second field)."""
    waited = 0
    for thread in glob.glob(f"/proc/{pid}/task/*"):
        with open(f"{thread}/comm") as name, open(f"{thread}/schedstat") as statistics:
            waited += int(statistics.read().split()[1]) / 1e9 if name.read().strip() == "worker" else 0
    return waited


def once(bench, name, seconds):
    """One run: what the client saw in quiet and under attack, how busy the gateway was with it, how much of that time others
    took from it, the most memory that it had, and the connections of the attackers."""
    keys = f"{bench.folder}/enforce/state/keys"
    os.makedirs(keys, exist_ok=True)
    with open(f"{keys}/{KEY_FILE}", "w") as file:
        file.write(KEYS)
    gateway = bench.start("enforce")
    visited = lambda seconds: beside(visit, gateway.ports[0], seconds).recv()  # noqa: E731
    visited(1)
    quiet = visited(seconds)
    siege = beside(besiege, name, gateway.ports)
    siege.recv()
    before, waited, start = sum(gateway.cpu()), kept_waiting(gateway.process.pid), time.monotonic()
    attacked = visited(seconds)
    length = time.monotonic() - start
    busy, disturbed = (sum(gateway.cpu()) - before) / length, (kept_waiting(gateway.process.pid) - waited) / length
    siege.send("end")
    opened, closed, faults = siege.recv()
    peak = gateway.memory("VmHWM:")
    gateway.stop()
    if faults or opened < ATTACKS[name][1]:
        raise SystemExit(f"e2e: {name}: only {opened} connections were opened: {faults}")
    return quiet, attacked, busy, disturbed, peak, opened, closed


def measure(bench, options):
    """Every attack whose name holds what was asked for; whether every gate passed."""
    seconds, rounds = options.seconds or 4, options.rounds or 5
    names = [name for name in ATTACKS if options.scenario in name]
    if not names:
        raise SystemExit("e2e: no attack has such a name; there are " + ", ".join(ATTACKS))
    print(f"{'attack':<18} quiet p99  attacked   allowed   busy  peak MiB   opened    closed  verdict  median of {rounds}, {seconds} s each")
    all_passed, most = True, 0
    for name in names:
        runs = [once(bench, name, seconds) for _ in range(rounds)]
        quiet, attacked = median(run[0][0] for run in runs), median(run[1][0] for run in runs)
        failed = sum(run[0][1] + run[1][1] for run in runs)
        busy, peak, allowed = median(run[2] for run in runs), max(run[4] for run in runs), max(FACTOR * quiet, FAST_ENOUGH)
        passed = attacked <= allowed and not failed and peak <= MOST_MEMORY
        print(f"{name:<18} {quiet:>9.2f} {attacked:>9.2f} {allowed:>9.2f} {busy:>6.0%} {peak / (1 << 20):>9.1f} {runs[-1][5]:>8} "
              f"{runs[-1][6]:>9} {'pass' if passed else 'FAIL':>8}  {ATTACKS[name][0]}", flush=True)
        if failed:
            print(f"{'':<18} {failed} requests of the well-behaved client failed")
        all_passed, most = all_passed and passed, max([most, *(run[3] for run in runs)])
    print(f"times in ms; allowed: {FACTOR} x quiet, or {FAST_ENOUGH} ms, and {MOST_MEMORY / (1 << 20):.0f} MiB; busy: the gateway's share of "
          "one processor; opened and closed: connections of attackers in the last run, and those of them that the gateway ended")
    if most > 0.02:
        print(f"this machine was not quiet: others kept the gateway from its processor for up to {most:.0%} of a run")
    return all_passed
