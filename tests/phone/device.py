"""A phone for tests of tools/phone.sh, as the real adb sees it: the device's side of adb's protocol, over TCP.

    device.py phone FOLDER [STATE]     a phone; FOLDER/port gets its address. STATE is device, unauthorized or recovery
    device.py door FOLDER SOCKET       a door to adb's server at the abstract socket SOCKET, see Door

The folder of a phone holds

    root/       the file system: data/local/tmp, sys, vendor. Commands run here, so the folders below that stand in their text become
                folders of this computer, and those of this computer in what is printed become the phone's.
    bin/        the phone's programs, before those of this computer; sh among them is the phone's shell
    pushed/     NAME stands for a pushed file NAME, which cannot run here
    emulator    the command that runs pushed programs for arm64
    old         there is such a file: Android before 7, whose shell has no exit status and ends lines with CR LF
    fault       KIND:PATTERN, for a command or push or pull that has PATTERN in it:
                  lost    the phone is unplugged: in a shell, after the first output; else after the first bytes
                  full, denied, broken    a push or pull fails, with the words of adbd
                  deaf    the phone never answers
    calls       what the phone was asked for, a line each

Protocol: docs/dev/protocol.md and sync.md, and shell_service.cpp, in Android's packages/modules/adb.
"""
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading

FOLDERS = ("/data/local/tmp", "/sys/devices", "/sys/class/thermal", "/vendor/lib64")
MOST = 256 * 1024                    # bytes of one message
TOKEN, VERSION = 1, 0x01000001       # of AUTH; from this version on checksums are not looked at
STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)


def daemon(folder):
    """Go on in the background, with the number of the process in FOLDER/pid and its errors in FOLDER/log."""
    number = os.fork()
    if number:
        with open(os.path.join(folder, "pid"), "w") as file:
            file.write("%d\n" % number)
        os._exit(0)
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    log = os.open(os.path.join(folder, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)


def exactly(read, count):
    data = b""
    while len(data) < count:
        more = read(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Phone:
    def __init__(self, folder, state):
        self.folder, self.state = os.path.realpath(folder), state
        self.root = os.path.join(self.folder, "root")
        self.lock = threading.Lock()

    def text(self, name):
        try:
            with open(os.path.join(self.folder, name)) as file:
                return file.read().strip()
        except FileNotFoundError:
            return None

    def call(self, *words):
        """Note a call, and return the fault that it has."""
        line = " ".join(words)
        with self.lock, open(os.path.join(self.folder, "calls"), "a") as file:
            file.write(line + "\n")
        kind, _, pattern = (self.text("fault") or "").partition(":")
        return kind if pattern and pattern in line else ""

    def local(self, path):
        return self.root + path

    def inward(self, text):
        return re.sub("|".join(FOLDERS), lambda found: self.root + found.group(), text)

    def outward(self, data):
        return data.replace(self.root.encode(), b"")

    def listen(self):
        door = socket.create_server(("127.0.0.1", 0))
        with open(os.path.join(self.folder, "port"), "w") as file:
            file.write("127.0.0.1:%d\n" % door.getsockname()[1])
        daemon(self.folder)
        while True:
            wire = door.accept()[0]
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            Transport(self, wire).start()


class Transport(threading.Thread):
    """A connection with adb's server: streams by their numbers."""

    def __init__(self, phone, wire):
        super().__init__(daemon=True)
        self.phone, self.wire, self.lock = phone, wire, threading.Lock()
        self.streams = {}

    def send(self, command, first, second, data=b""):
        number = struct.unpack("<I", command)[0]
        with self.lock:
            self.wire.sendall(struct.pack("<4s5I", command, first, second, len(data), 0, number ^ 0xffffffff) + data)

    def run(self):
        try:
            while True:
                command, first, second, size, _, _ = struct.unpack("<4s5I", exactly(self.wire.recv, 24))
                self.message(command, first, second, exactly(self.wire.recv, size))
        except (EOFError, OSError):
            self.wire.close()
            for stream in list(self.streams.values()):
                stream.closed()

    def message(self, command, first, second, data):
        phone = self.phone
        if command in (b"CNXN", b"AUTH") and phone.state == "unauthorized":
            self.send(b"AUTH", TOKEN, 0, os.urandom(20))
        elif command == b"CNXN":
            features = "" if phone.text("old") is not None else "features=shell_v2,cmd"
            self.send(b"CNXN", VERSION, MOST, ("%s::ro.product.name=phone;ro.product.model=Phone_8;ro.product.device=phone;%s" %
                                               (phone.state, features)).encode())
        elif command == b"OPEN":
            stream = Stream(self, first, data.rstrip(b"\0").decode())
            self.streams[stream.number] = stream
            self.send(b"OKAY", stream.number, first)
            stream.start()
        elif second in self.streams:
            stream = self.streams[second]
            if command == b"OKAY":
                stream.ready.release()
            elif command == b"WRTE":
                stream.inbox.sendall(data)
                self.send(b"OKAY", second, first)
            elif command == b"CLSE":
                stream.closed()
        elif command == b"WRTE":
            self.send(b"CLSE", 0, first)


class Stream(threading.Thread):
    """A service that the computer has opened."""
    numbers = 0

    def __init__(self, transport, other, service):
        super().__init__(daemon=True)
        Stream.numbers += 1
        self.number, self.other, self.service = Stream.numbers, other, service
        self.transport, self.phone = transport, transport.phone
        self.ready = threading.Semaphore(1)          # a message is sent when the last one has been taken
        self.inbox, self.outbox = socket.socketpair()
        self.over, self.shell = False, None

    def closed(self):
        """The computer has closed it. As adbd does, tell the shell, and nobody else."""
        self.over = True
        self.transport.streams.pop(self.number, None)
        self.ready.release()
        self.inbox.close()
        if self.shell is not None and self.shell.poll() is None:
            self.shell.send_signal(signal.SIGHUP)

    def write(self, data):
        while data:
            self.ready.acquire()
            if self.over:
                raise EOFError
            self.transport.send(b"WRTE", self.number, self.other, data[:MOST])
            data = data[MOST:]

    def read(self, count):
        return exactly(self.outbox.recv, count)

    def run(self):
        name, _, rest = self.service.partition(":")
        try:
            if name.split(",")[0] == "shell":
                self.run_shell(rest, "v2" in name.split(","))
            elif name == "sync":
                while self.sync():
                    pass
            if not self.over:
                self.ready.acquire()
                self.transport.send(b"CLSE", self.number, self.other)
                self.over = True
                self.transport.streams.pop(self.number, None)
        except (EOFError, OSError):
            pass

    def lose(self):
        """The phone is unplugged."""
        if self.shell is not None:
            self.shell.send_signal(signal.SIGHUP)
        os._exit(0)

    def wait_for_ever(self):
        while not self.over:
            self.ready.acquire()
        raise EOFError

    # ---- the shell

    def run_shell(self, command, has_packets):
        phone = self.phone
        fault = phone.call("shell", command)
        if fault == "deaf":
            self.wait_for_ever()
        path = os.path.join(phone.folder, "bin")
        self.shell = subprocess.Popen(
            ["sh", "-c", phone.inward(command)], executable=os.path.join(path, "sh"), start_new_session=True, cwd=phone.root,
            env=dict(os.environ, PATH=path + ":" + os.environ["PATH"], PHONE=phone.folder),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE if has_packets else subprocess.STDOUT)

        def copy(source, number):
            for line in iter(source.readline, b""):
                line = phone.outward(line)
                self.write(struct.pack("<BI", number, len(line)) + line if has_packets else line.replace(b"\n", b"\r\n"))
                if fault == "lost":
                    self.ready.acquire()             # the computer has it
                    self.lose()

        errors = threading.Thread(target=self.guarded, args=(copy, self.shell.stderr, STDERR), daemon=True)
        if has_packets:
            errors.start()
        self.guarded(copy, self.shell.stdout, STDOUT)
        if has_packets:
            errors.join()
        status = self.shell.wait()
        if fault == "lost":
            self.lose()
        if has_packets:
            self.write(struct.pack("<BIB", EXIT, 1, status if status >= 0 else 128 - status))

    @staticmethod
    def guarded(work, *arguments):
        try:
            work(*arguments)
        except (EOFError, OSError):
            pass

    # ---- files

    def sync(self):
        """Answer one request. Return False at the end."""
        name, size = struct.unpack("<4sI", self.read(8))
        path = self.read(size).decode() if name != b"QUIT" else ""
        if name == b"STAT":
            self.write(b"STAT" + self.facts(self.phone.local(path)))
        elif name == b"LIST":
            folder = self.phone.local(path)
            for entry in [".", ".."] + sorted(os.listdir(folder)):
                self.write(b"DENT" + self.facts(os.path.join(folder, entry)) + struct.pack("<I", len(entry.encode())) + entry.encode())
            self.write(b"DONE" + bytes(16))
        elif name == b"SEND":
            self.receive(path.rpartition(",")[0])
        elif name == b"RECV":
            self.give(path)
        return name != b"QUIT"

    @staticmethod
    def facts(path):
        try:
            found = os.lstat(path)
        except OSError:
            return bytes(12)
        return struct.pack("<3I", found.st_mode, found.st_size & 0xffffffff, int(found.st_mtime))

    def fail(self, text):
        self.write(b"FAIL" + struct.pack("<I", len(text)) + text.encode())

    def receive(self, path):
        """A push. A failure is told at once, and the rest is read and dropped."""
        phone, to = self.phone, self.phone.local(path)
        fault = phone.call("push", path)
        reason = {"denied": "couldn't create file: Permission denied", "full": "write failed: No space left on device",
                  "broken": "read failed: EOF"}.get(fault)
        file, first = None, True
        if reason is None:
            try:
                os.makedirs(os.path.dirname(to), exist_ok=True)
                file = open(to, "wb")
            except OSError as problem:
                reason = "couldn't create file: " + problem.strerror
        if reason:
            self.fail(reason)
        while True:
            name, size = struct.unpack("<4sI", self.read(8))
            if name == b"DONE":
                break
            data = self.read(size)
            if fault == "lost":
                self.lose()
            if fault == "deaf":
                self.wait_for_ever()
            if file:
                file.write(data)
        if file:
            file.close()
            self.stand_in(to)
            self.write(b"OKAY" + bytes(4))

    def stand_in(self, to):
        """What is pushed may not run here: put something in its place that does."""
        name, emulator = os.path.basename(to), self.phone.text("emulator")
        other = os.path.join(self.phone.folder, "pushed", name)
        with open(to, "rb") as file:
            head = file.read(20)
        if os.path.exists(other):
            with open(other, "rb") as source, open(to, "wb") as file:
                file.write(source.read())
        elif emulator and head[:4] == b"\x7fELF" and head[18:20] == b"\xb7\0" and not name.endswith(".so"):
            os.rename(to, to + ".arm64")
            os.chmod(to + ".arm64", 0o755)
            with open(to, "w") as file:
                file.write('#!/bin/sh\nexec %s ./%s.arm64 "$@"\n' % (emulator, name))

    def give(self, path):
        """A pull of one file."""
        fault = self.phone.call("pull", path)
        if fault == "lost":
            self.lose()
        if fault == "deaf":
            self.wait_for_ever()
        try:
            if fault == "broken":
                raise PermissionError(13, "Permission denied")
            if not stat.S_ISREG(os.stat(self.phone.local(path)).st_mode):
                raise OSError(22, "Invalid argument")
            with open(self.phone.local(path), "rb") as file:
                data = file.read()
        except OSError as problem:
            self.fail("open failed: " + problem.strerror)
            return
        for at in range(0, len(data), 65536):
            part = data[at:at + 65536]
            self.write(b"DATA" + struct.pack("<I", len(part)) + part)
        self.write(b"DONE" + bytes(4))


class Door:
    """Between adb's clients and its server: the list of phones is that of FOLDER/devices. Its lines are NAME, tab, ADDRESS
    for a phone that the server knows as ADDRESS and clients as NAME, or NAME, tab, STATE. So a phone can have a serial
    number as USB and mDNS give it, and a state that needs a cable."""

    def __init__(self, folder, inner):
        self.folder, self.inner = folder, inner

    def listen(self):
        door = socket.socket(socket.AF_UNIX)
        door.bind("\0" + self.inner + "-door")
        door.listen(64)
        daemon(self.folder)
        while True:
            threading.Thread(target=self.serve, args=(door.accept()[0],), daemon=True).start()

    def names(self):
        with open(os.path.join(self.folder, "devices")) as file:
            return [line.rstrip("\n").split("\t", 1) for line in file]

    def serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect("\0" + self.inner)
            request = exactly(client.recv, int(exactly(client.recv, 4), 16)).decode()
            if request != "host:devices":
                for name, address in self.names():
                    request = request.replace(":" + name, ":" + address)
            server.sendall(b"%04x" % len(request) + request.encode())
            if request == "host:devices":
                exactly(server.recv, 4)
                listed = exactly(server.recv, int(exactly(server.recv, 4), 16)).decode()
                states = dict(line.split("\t", 1) for line in listed.splitlines())
                answer = "".join("%s\t%s\n" % (name, states.get(what, what)) for name, what in self.names()).encode()
                client.sendall(b"OKAY%04x" % len(answer) + answer)
            else:
                threading.Thread(target=self.copy, args=(client, server), daemon=True).start()
                self.copy(server, client)
        except (EOFError, OSError, ValueError):
            pass
        client.close()
        server.close()

    @staticmethod
    def copy(source, target):
        try:
            while True:
                data = source.recv(MOST)
                if not data:
                    break
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


if __name__ == "__main__":
    if sys.argv[1] == "phone":
        Phone(sys.argv[2], (sys.argv[3:] + ["device"])[0]).listen()
    else:
        Door(sys.argv[2], sys.argv[3]).listen()
