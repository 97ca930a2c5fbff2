#!/usr/bin/env python3
"""A second verifier of bundles that `assay export` writes.

It was written from docs/proof.md and shares no code with assay, so that a mistake in one of them shows. It needs Python 3.11
and nothing else: Ed25519 is computed here. It keeps a whole bundle in memory and is slow; `assay verify` is for large ones.

    verify_bundle.py FOLDER [--public-key KEY]... [--allow-unsigned]

The exit code is 0 if everything is proven, 1 if something differs, and 2 if the command line is wrong.
"""

import argparse
import base64
import csv
import datetime
import hashlib
import json
import pathlib
import sys
import time
import tomllib
import zoneinfo
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

HOUR, DAY = 3_600_000, 86_400_000  # milliseconds
NANOS, MICROS = 10**9, 10**6
WHOLE = 10_000  # 100 % in hundredths of a percent
ZERO_HASH = "0" * 64
EVIDENCE = {  # the mark of each class in the inputs
    "": "c", "payment": "p", "invoice": "i", "order": "o", "metering": "m", "attestation": "a", "judgement": "j",
}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class Differs(Exception):
    """What was published cannot be proven."""


# Texts -------------------------------------------------------------------------------------------------------------------------


def instant(text):
    """The milliseconds since 1970 of an instant such as 2026-02-03T21:00:00.000Z."""
    at = datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
    return (at - EPOCH) // datetime.timedelta(milliseconds=1)


def instant_text(ms):
    at = EPOCH + datetime.timedelta(milliseconds=ms)
    return f"{at:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03d}Z"


def day_text(ms):
    return instant_text(ms)[:10]


def units(text, decimals):
    """A plain decimal number in units of 10^-decimals, exactly."""
    whole, _, fraction = text.partition(".")
    return int(whole + fraction.ljust(decimals, "0"))


def decimal(number, decimals):
    """The shortest plain decimal form of a number of units."""
    text = str(number).rjust(decimals + 1, "0")
    return (text[:-decimals] + "." + text[-decimals:]).rstrip("0").rstrip(".")


def quoted(text):
    """A JSON string: characters as they are, except those that HTML gives a meaning."""
    out = json.dumps(text, ensure_ascii=False)
    for c in "<>&\u2028\u2029":
        out = out.replace(c, f"\\u{ord(c):04x}")
    return out


def half_even(amount, divisor):
    quotient, rest = divmod(amount, divisor)
    if 2 * rest > divisor or 2 * rest == divisor and quotient % 2 == 1:
        return quotient + 1
    return quotient


# Methodology -------------------------------------------------------------------------------------------------------------------


@dataclass
class Methodology:
    version: str
    effective: int
    decimals: int
    zone: zoneinfo.ZoneInfo
    fixing_hour: int
    minimums: list  # (name of the fallback, transactions, providers), in the order in which they are tried
    lower: int  # percentiles and cap in hundredths of a percent; 0 is none
    upper: int
    cap: int
    delay: int  # seconds

    @staticmethod
    def parse(text):
        t = tomllib.loads(text)
        effective = (t["effective"] - EPOCH) // datetime.timedelta(milliseconds=1)
        percent = lambda section, key: round(t.get(section, {}).get(key, 0) * 100)
        delay = t.get("publication", {}).get("delay", "5s")
        return Methodology(
            version=t["version"], effective=effective, decimals=t["decimals"],
            zone=zoneinfo.ZoneInfo(t["fixing"]["zone"]), fixing_hour=int(t["fixing"]["time"][:2]),
            minimums=[("", t["minimum"]["transactions"], t["minimum"]["providers"])] + [
                (f["name"], f["transactions"], f["providers"]) for f in t.get("fallback", [])],
            lower=percent("winsorise", "lower"), upper=percent("winsorise", "upper"),
            cap=percent("cap", "provider_share"), delay=seconds(delay),
        )

    def fixing(self, date):
        at = datetime.datetime(date.year, date.month, date.day, self.fixing_hour, tzinfo=self.zone)
        return (at.astimezone(datetime.timezone.utc) - EPOCH) // datetime.timedelta(milliseconds=1)

    def next_slot(self, grain, ms):
        """The end of the window that holds an instant. Windows are half-open: an instant at an end is in the next one."""
        if grain == "hourly":
            return ms // HOUR * HOUR + HOUR
        date = (EPOCH + datetime.timedelta(milliseconds=ms)).astimezone(self.zone).date()
        at = self.fixing(date)
        return at if at > ms else self.fixing(date + datetime.timedelta(days=1))

    def window_start(self, grain, slot):
        if grain == "hourly":
            return slot - HOUR
        date = (EPOCH + datetime.timedelta(milliseconds=slot - 1)).astimezone(self.zone).date()
        at = self.fixing(date)
        return at if at <= slot - 1 else self.fixing(date - datetime.timedelta(days=1))


def seconds(text):
    """A duration such as 5s, 30m or 1m30s."""
    total, number = 0, ""
    for c in text:
        if c.isdigit():
            number += c
        else:
            total += int(number) * {"s": 1, "m": 60, "h": 3600}[c]
            number = ""
    return total


# Transactions ------------------------------------------------------------------------------------------------------------------


@dataclass
class Transaction:
    id: str
    source: str
    executed_at: int
    gpu: str
    region: str
    price: int  # billionths
    gpus: int
    hours: int  # millionths
    provider: str
    verified: bool
    receipt: int
    evidence: tuple  # a class, or empty, and who verified
    withdrawn: bool = False
    digest: bytes = b""

    def __post_init__(self):
        text = "\t".join([
            self.source, self.id, instant_text(self.executed_at), self.gpu, self.region, decimal(self.price, 9),
            str(self.gpus), decimal(self.hours, 6), self.provider,
        ])
        self.digest = hashlib.sha256(text.encode()).digest()

    def order(self):
        return (self.executed_at, self.source, self.id, self.receipt)


def known(rows, verifications, corrections, receipt):
    """The rows of a window as they were known at a receipt: (transaction, counts, withdrawn, evidence)."""
    rows = [t for t in rows if t.receipt <= receipt]
    state = {id(t): (t.verified, False, t.evidence) for t in rows}
    of = defaultdict(list)
    for t in rows:
        of[t.source, t.id, t.executed_at].append(t)
    for v in verifications:
        if v["receipt"] > receipt:
            continue
        before = [t for t in of.get(v["key"], []) if t.receipt < v["receipt"]]
        if before:  # a verification is of the newest row before it
            state[id(max(before, key=lambda t: t.receipt))] = (
                v["verified"], not v["verified"], (v["evidence"], v["actor"]))
    for c in corrections:
        for t in of.get(c["key"], []):
            if t.receipt == c["replaced"] and c["receipt"] <= receipt:
                state[id(t)] = (False, True, ("", ""))
    return [(t, *state[id(t)]) for t in rows]


# The index ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Determination:
    inputs: str
    published: bool = False
    value: int | None = None
    transactions: int = 0
    hours: int = 0
    providers: int = 0
    hhi: int = 0
    fallback: str = ""
    volumes: str = '{"by_source":[],"by_evidence":{}}'
    low: int = 0
    high: int = 0
    median: int = 0
    unverified: int = 0
    withdrawn: int = 0
    winsorised: int = 0
    capped: int = 0


def determine(rows, m, grain):
    """Computes a window from its rows as they were known, in order."""
    inputs = hashlib.sha256()
    for t, counts, withdrawn, (evidence, by) in rows:
        mark = EVIDENCE[evidence] + (quoted(by) if evidence else "")
        inputs.update(t.digest + (mark if counts else "w" if withdrawn else "u").encode())
    d = Determination(inputs.hexdigest())
    d.unverified = sum(not counts and not withdrawn for _, counts, withdrawn, _ in rows)
    d.withdrawn = sum(not counts and withdrawn for _, counts, withdrawn, _ in rows)
    counted = [(t.price, t.gpus * t.hours, t.provider) for t, counts, _, _ in rows if counts]
    d.transactions, d.providers = len(counted), len({provider for _, _, provider in counted})
    for d.fallback, transactions, providers in m.minimums if grain == "daily" else m.minimums[:1]:
        if d.transactions >= transactions and d.providers >= providers:
            break
    else:
        d.fallback = ""
        return d
    prices = sorted(price for price, _, _ in counted)
    d.low, d.high, middle = prices[0], prices[-1], len(prices) // 2
    d.median = prices[middle] if len(prices) % 2 else half_even(prices[middle - 1] + prices[middle], 2)
    if m.upper:
        counted, d.winsorised = winsorise(counted, m)
    amounts, weights = defaultdict(int), defaultdict(int)
    for price, weight, provider in counted:
        amounts[provider] += price * weight
        weights[provider] += weight
    total = sum(weights.values())
    d.hours = min(total, 2**63 - 1)
    d.hhi = hhi(weights.values(), total)
    d.volumes = volumes([(t.source, evidence, t.gpus * t.hours) for t, counts, _, (evidence, _) in rows if counts])
    unit = 10 ** (9 - m.decimals)
    value = half_even(sum(amounts.values()), total * unit) * unit
    if m.cap:
        exact, d.capped = capped(amounts, weights, m)
        if d.capped:
            value = half_even(exact.numerator, exact.denominator * unit) * unit
    if value > 0:
        d.value, d.published = value, True
    else:
        d.fallback = ""
    return d


def volumes(counted):
    """The GPU-hours by source, the largest first, and by evidence, in the order of the classes."""
    sources, classes = defaultdict(int), defaultdict(int)
    for source, evidence, weight in counted:
        sources[source] += weight
        classes[evidence] += weight
    text = lambda weight: decimal(min(weight, 2**63 - 1), 6)
    by_source = ",".join(text(weight) for weight in sorted(sources.values(), reverse=True))
    by_evidence = ",".join(f'"{name or "unstated"}":{text(classes[name])}' for name in EVIDENCE if name in classes)
    return f'{{"by_source":[{by_source}],"by_evidence":{{{by_evidence}}}}}'


def winsorise(counted, m):
    """Moves prices beyond two percentiles, weighted by GPU-hours, to the percentiles."""
    counted = sorted(counted, key=lambda c: c[0])
    total = sum(weight for _, weight, _ in counted)

    def percentile(share):
        reached = 0
        for price, weight, _ in counted:
            reached += weight
            if reached * WHOLE >= total * share:
                return price
        return counted[-1][0]

    lowest, highest = percentile(m.lower), percentile(m.upper)
    moved = [(min(max(price, lowest), highest), weight, provider) for price, weight, provider in counted]
    return moved, sum(a[0] != b[0] for a, b in zip(moved, counted))


def hhi(weights, total):
    """Rounds half up, twice: each share to millionths, and the sum of their squares."""
    shares = [(2 * weight * MICROS + total) // (2 * total) for weight in weights]
    step = MICROS * MICROS // WHOLE
    return (sum(share * share for share in shares) + step // 2) // step


def capped(amounts, weights, m):
    """The average with no provider above the cap: cutting one raises the shares of the others, so it repeats."""
    cut = set()
    while True:
        rest = sum(weights[p] for p in weights if p not in cut)
        more = {p for p in weights if p not in cut
                and weights[p] * (WHOLE - min(WHOLE, len(cut) * m.cap)) > rest * m.cap}
        if not more:
            break
        cut |= more
    if not cut:
        return None, 0
    value = sum(Fraction(amounts[p], weights[p]) for p in cut) * Fraction(m.cap, WHOLE)
    others = [p for p in weights if p not in cut]
    average = Fraction(sum(amounts[p] for p in others), sum(weights[p] for p in others))
    return value + average * Fraction(WHOLE - len(cut) * m.cap, WHOLE), len(cut)


# Records -----------------------------------------------------------------------------------------------------------------------


@dataclass
class Record:
    sequence: int
    version: int
    text: str  # as it was published
    said: dict

    def slot(self):
        return self.said["gpu_type"], self.said["region"], self.said["granularity"], instant(self.said["timestamp"])


def record_text(d, slot, revision, m, start, cover, said):
    """The text of a record that is hashed."""
    gpu, region, grain, at = slot
    price = lambda n: "null" if d.value is None else decimal(n, 9)
    delay = f',"publication_delay_seconds":{m.delay}' if "publication_delay_seconds" in said else ""
    fallback = f',"fallback":{quoted(d.fallback)}' if d.fallback else ""
    by = f',"volumes":{d.volumes}' if "volumes" in said else ""
    return (
        f'{{"gpu_type":{quoted(gpu)},"region":{quoted(region)},"granularity":"{grain}","timestamp":"{instant_text(at)}",'
        f'"revision":{revision},"window":{{"from":"{instant_text(start)}","to":"{instant_text(at)}"}},'
        f'"methodology":{quoted(m.version)}{fallback}{delay},"receipt":{cover["receipt"]},"index_value":{price(d.value)},'
        f'"transactions":{d.transactions},"gpu_hours":{decimal(d.hours, 6)},"providers":{d.providers},"hhi":{d.hhi}{by},'
        f'"lowest_price":{price(d.low)},"highest_price":{price(d.high)},"median_price":{price(d.median)},'
        f'"excluded":{{"unverified":{d.unverified},"withdrawn":{d.withdrawn}}},'
        f'"adjusted":{{"winsorised":{d.winsorised},"capped":{d.capped}}},"inputs_digest":"{d.inputs}",'
        f'"published_at":"{instant_text(cover["published_at"])}","previous_hash":"{said["previous_hash"]}"}}'
    )


# The bundle --------------------------------------------------------------------------------------------------------------------


@dataclass
class Bundle:
    folder: pathlib.Path
    start: int = 0
    end: int = 0
    exported: int = 0
    schedule: list = field(default_factory=list)
    transactions: list = field(default_factory=list)
    verifications: list = field(default_factory=list)
    corrections: list = field(default_factory=list)
    covers: dict = field(default_factory=lambda: defaultdict(list))
    records: list = field(default_factory=list)
    manifests: list = field(default_factory=list)
    log: str = ""
    key_events: list = field(default_factory=list)

    def read(self):
        head = json.loads((self.folder / "bundle.json").read_text())
        if head["format"] != "assay-bundle-3":
            raise Differs(f'bundle.json: the format is {head["format"]}')
        for name, want in head["files"].items():
            if hashlib.sha256((self.folder / name).read_bytes()).hexdigest() != want:
                raise Differs(f"{name}: it is not the file that was exported")
        self.start, self.end = (instant(head[key] + "T00:00:00.000Z") for key in ("from", "to"))
        self.exported, self.log = instant(head["exported_at"]), head["log"]
        files = sorted((self.folder / "methodology").glob("*.toml"))
        self.schedule = sorted((Methodology.parse(f.read_text()) for f in files), key=lambda m: m.effective)
        for r in self.rows("transactions.csv"):
            if bool(r["evidence"]) != bool(r["verified_by"]) or r["evidence"] and r["verified"] != "true":
                raise Differs(f'transactions.csv: {r["id"]} of {r["source"]} has half an evidence')
            self.transactions.append(Transaction(
                r["id"], r["source"], instant(r["executed_at"]), r["gpu_name"], r["region"], units(r["price"], 9),
                int(r["gpus"]), units(r["hours"], 6), r["provider"], r["verified"] == "true", int(r["receipt"]),
                (r["evidence"], r["verified_by"]),
            ))
        for r in self.rows("verifications.csv"):
            self.verifications.append({
                "key": key_of(r), "verified": r["verified"] == "true", "receipt": int(r["receipt"]),
                "evidence": r["evidence"], "actor": r["actor"]})
        for r in self.rows("corrections.csv"):
            self.corrections.append({
                "key": key_of(r), "replaced": int(r["corrected_receipt"]), "receipt": int(r["receipt"])})
        for r in self.rows("covers.csv"):
            self.covers[r["gpu_name"], r["granularity"]].append({
                "from": instant(r["from"]), "to": instant(r["to"]), "version": int(r["version"]),
                "published_at": instant(r["published_at"]), "receipt": int(r["receipt"]),
                "restatement": r["restatement"] == "true",
            })
        for line in (self.folder / "records.ndjson").read_text().splitlines():
            said = json.loads(line)
            text = line[line.index('"record":') + len('"record":'):-1]
            self.records.append(Record(said["sequence"], said["version"], text, said["record"]))
        self.manifests = (self.folder / "manifests.ndjson").read_text().splitlines()
        self.key_events = (self.folder / "keys.ndjson").read_text().splitlines()

    def rows(self, name):
        with open(self.folder / name, newline="") as f:
            yield from csv.DictReader(f)

    def methodology(self, at):
        return next((m for m in reversed(self.schedule) if at >= m.effective), self.schedule[0])

    def check_values(self):
        """Determines every slot again, for each publication that covered it, and compares it with its records."""
        expected = defaultdict(list)
        for r in self.records:
            expected[r.slot()].append(r)
        windows, rules = defaultdict(list), self.schedule[0]
        for t in sorted(self.transactions, key=Transaction.order):
            for grain in ("hourly", "daily"):
                slot = rules.next_slot(grain, t.executed_at)
                for region in {"global", t.region or "global"}:
                    windows[t.gpu, region, grain, slot].append(t)
        for slot in sorted(windows):
            self.check_slot(slot, windows[slot], expected.pop(slot, []))
        for slot in expected:
            raise Differs(f"{slot_name(slot)}: there is a record but no transaction")

    def check_slot(self, slot, rows, records):
        gpu, _, grain, at = slot
        m, start = self.methodology(at), self.schedule[0].window_start(grain, at)
        covers = [c for c in self.covers[gpu, grain] if c["from"] <= at - 1 < c["to"]]
        before, revision = None, 0
        for cover in sorted(covers, key=lambda c: c["version"]):
            rows_known = known(rows, self.verifications_of(rows), self.corrections_of(rows), cover["receipt"])
            d = determine(rows_known, m, grain)
            if before is None:
                if not d.published:
                    continue
                revision = 0
            elif d.inputs == before.inputs or not d.published and before.value is None:
                continue
            else:
                revision += 1
            if not records:
                raise Differs(f"{slot_name(slot)}: there is no record of revision {revision}")
            r, before = records.pop(0), d
            text = record_text(d, slot, revision, m, start, cover, r.said)
            if "volumes" not in r.said and any(counts and evidence for _, counts, _, (evidence, _) in rows_known):
                raise Differs(f"{slot_name(slot)}, revision {revision}: the record has no volumes, though there is evidence")
            if r.text != text[:-1] + f',"hash":"{r.said["hash"]}"}}':
                raise Differs(f"{slot_name(slot)}, revision {revision}: the record says\n{r.text}\nthe transactions give\n{text}")
            if hashlib.sha256(text.encode()).hexdigest() != r.said["hash"]:
                raise Differs(f"{slot_name(slot)}, revision {revision}: the hash is not that of the text")
            if r.version != cover["version"] or cover["published_at"] < at + r.said.get("publication_delay_seconds", 0) * 1000:
                raise Differs(f"{slot_name(slot)}, revision {revision}: another publication, or too early")
        if records:
            raise Differs(f"{slot_name(slot)}: there is a record that no publication made")

    def verifications_of(self, rows):
        return self.amendments(self.verifications, rows)

    def corrections_of(self, rows):
        return self.amendments(self.corrections, rows)

    def amendments(self, amendments, rows):
        keys = {(t.source, t.id, t.executed_at) for t in rows} if amendments else ()
        return [a for a in amendments if a["key"] in keys]

    def check_chains(self):
        """A record carries the hash of the one before it in its series, as far as that is in the period."""
        series = defaultdict(list)
        for r in self.records:
            series[r.slot()[:3]].append(r)
        for key, records in series.items():
            records.sort(key=lambda r: r.sequence)
            for before, r in zip([None] + records, records):
                if before is not None and before.sequence == r.sequence:
                    raise Differs(f"{key}: two records have the number {r.sequence}")
                follows = before is not None and before.sequence + 1 == r.sequence
                want = before.said["hash"] if follows else ZERO_HASH if r.sequence == 1 else r.said["previous_hash"]
                if before is not None and "volumes" in before.said and "volumes" not in r.said:
                    raise Differs(f"{key}: number {r.sequence} has no volumes, though earlier records have")
                if r.said["previous_hash"] != want:
                    raise Differs(f"{key}: the chain is broken at number {r.sequence}")

    def follow_keys(self, accepted):
        """Checks how the key that signs has changed. Whoever accepts a key also accepts those that it has signed."""
        keys, known, revoked, current = list(accepted), [], [], None
        for number, text in enumerate(self.key_events, 1):
            event, name = json.loads(text), f"key event {number}"
            key, action = base64.b64decode(event["public_key"]), event["action"]
            signers = {"begin": [key], "rotate": [current, key], "accept": [key], "revoke": [current]}.get(action)
            if event["type"] != "key" or event["number"] != number or signers is None:
                raise Differs(f"{name}: it is not one, or not the next")
            if (action == "begin") != (current is None) or key in revoked or key == current or (action == "revoke" and key not in known):
                raise Differs(f"{name}: {action} cannot be used for this key")
            signed = f"assay key event/v1\n{self.log}\n" + text[:text.index(',"signatures":[')] + "}"
            signatures = [base64.b64decode(s) for s in event["signatures"]]
            if len(signatures) != len(signers) or not all(map(ed25519_verify, signers, [signed.encode()] * 2, signatures)):
                raise Differs(f"{name}: {action} is not signed with the keys that it needs")
            if action == "rotate" and current in keys:
                keys.append(key)
            if action == "revoke":
                revoked.append(key)
            else:
                current = key
            known.append(key)
        return keys, known

    def check_checkpoint(self, keys, known):
        """The signed state of the log at the time of the export."""
        note = (self.folder / "checkpoint.txt").read_text()
        if not note:
            return
        text, _, lines = note.partition("\n\n")
        signers = keys or known + [base64.b64decode(json.loads(m)["public_key"]) for m in self.manifests]
        for line in lines.splitlines():
            _, name, signature = line.split(" ")
            raw = base64.b64decode(signature)
            for key in signers:
                hashed = hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]
                if name == self.log and raw[:4] == hashed and ed25519_verify(key, text.encode() + b"\n", raw[4:]):
                    if text.split("\n")[0] != self.log:
                        raise Differs("checkpoint.txt: it is of another log")
                    return
        raise Differs("checkpoint.txt: it is not signed with a key that is accepted")

    def check_manifests(self, keys, allow_unsigned, now):
        listed, last, revisions = defaultdict(list), ZERO_HASH, defaultdict(int)
        for text in self.manifests:
            m = json.loads(text)
            name = f'manifest of {m["day"]}, revision {m["revision"]}'
            signed = text[:text.index(',"hash":"')] + "}"
            if hashlib.sha256(signed.encode()).hexdigest() != m["hash"] or not text.endswith(f',"signature":"{m["signature"]}"}}'):
                raise Differs(f"{name}: its hash is not the hash of its text")
            key = base64.b64decode(m["public_key"])
            if not ed25519_verify(key, signed.encode(), base64.b64decode(m["signature"])):
                raise Differs(f"{name}: its signature does not match its public key")
            if m["previous_hash"] != last or m["revision"] != revisions[m["day"]]:
                raise Differs(f"{name}: the chain is broken")
            last, revisions[m["day"]] = m["hash"], m["revision"] + 1
            day = instant(m["day"] + "T00:00:00.000Z")
            if self.start <= day < self.end:
                if keys and key not in keys:
                    raise Differs(f"{name}: it is signed with another key")
                listed[day].append(m)
        self.check_listed(listed, keys, allow_unsigned, now)

    def check_listed(self, listed, keys, allow_unsigned, now):
        """Every manifest lists the records that its day had at its publication."""
        days = defaultdict(list)
        for r in self.records:
            days[r.slot()[3] // DAY * DAY].append(r)
        for records in days.values():
            records.sort(key=lambda r: (*r.slot(), r.said["revision"]))
        for day in sorted(set(days) | set(listed)):
            records, complete = days[day], False
            for m in listed[day]:
                newest = m.get("publication")
                if newest is None:  # of a release before 0.6.0: the records of the first publications, as many as it counts
                    newest = sorted(r.version for r in records)[m["records"] - 1] if m["records"] else 0
                then = [r for r in records if r.version <= newest]
                digest = hashlib.sha256(b"".join(bytes.fromhex(r.said["hash"]) for r in then)).hexdigest()
                revised = sum(r.said["revision"] > 0 for r in then)
                if len(then) != m["records"] or digest != m["records_digest"] or revised != m.get("revisions", revised):
                    raise Differs(f"manifest of {day_text(day)}, revision {m['revision']}: it does not list the records of the day")
                complete = len(then) == len(records)
            if complete or allow_unsigned:
                continue
            if keys and day + DAY + HOUR <= now:
                raise Differs(f"{day_text(day)} is over, but not signed")
            if self.manifests and not listed[day] and day + DAY <= self.exported:
                raise Differs(f"{day_text(day)}: its manifest is missing")


def key_of(row):
    return row["source"], row["id"], instant(row["executed_at"])


def slot_name(slot):
    return f"{slot[0]} {slot[1]} {slot[2]} at {instant_text(slot[3])}"


# Ed25519 (RFC 8032) --------------------------------------------------------------------------------------------------------------

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    w, x, y, z = f - e, h - g, h + g, f + e
    return w * x % P, y * z % P, x * y % P, w * z % P


def times(n, point):
    result = (0, 1, 1, 0)
    while n:
        if n & 1:
            result = add(result, point)
        point, n = add(point, point), n >> 1
    return result


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


def point(raw):
    y = int.from_bytes(raw, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    if y >= P:
        return None
    xx = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(xx, (P + 3) // 8, P)
    if (x * x - xx) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - xx) % P or x == 0 and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def ed25519_verify(key, message, signature):
    if len(key) != 32 or len(signature) != 64:
        return False
    a, r, s = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= Q:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % Q
    return same(times(s, BASE), add(r, times(h, a)))


# ---------------------------------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description="Verify a bundle that assay export wrote.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--public-key", action="append", default=[], type=base64.b64decode, metavar="KEY")
    parser.add_argument("--allow-unsigned", action="store_true")
    options = parser.parse_args()
    bundle = Bundle(options.folder)
    try:
        bundle.read()
        bundle.check_values()
        bundle.check_chains()
        keys, known = bundle.follow_keys(options.public_key)
        bundle.check_manifests(keys, options.allow_unsigned, time.time_ns() // 1_000_000)
        bundle.check_checkpoint(keys, known)
    except Differs as difference:
        sys.exit(f"verify_bundle: {difference}")
    except (ArithmeticError, LookupError, OSError, ValueError) as error:
        sys.exit(f"verify_bundle: the bundle cannot be read: {type(error).__name__}: {error}")
    print(f"verified: {len(bundle.records)} values from {len(bundle.transactions)} transactions")


if __name__ == "__main__":
    main()
