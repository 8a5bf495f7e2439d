# ruff: noqa: E501, RUF001 -- a kind to a line, in the letters of its language
"""Labelled kinds of values from many domains and languages, each by a generator.

E: endless IDs, a new one with nearly every event. T: texts written to be read, and times. C: several attributes in one
value. G: IDs of things that exist for long, of which there may be many; either answer is fine. N: names, codes, and
numbers that must not be taken for IDs or texts. A third of the kinds is kept out of every run until a change is done.
"""

from __future__ import annotations

import base64
import hashlib
import random
import string
import zlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

LABELS: Final = "ETCGN"


class Kind(NamedTuple):
    """One kind of values: what an expert calls it, and how one value comes about."""

    label: str
    make: Callable[[random.Random], str]


def _hex(r: random.Random, count: int) -> str:
    return "".join(r.choices("0123456789abcdef", k=count))


def _of(r: random.Random, characters: str, count: int) -> str:
    return "".join(r.choices(characters, k=count))


def _b64(r: random.Random, count: int) -> str:
    return base64.b64encode(r.randbytes(count)).decode()


def _digits(r: random.Random, count: int) -> str:
    return str(r.randrange(10 ** (count - 1), 10**count))


_UPPER: Final = string.ascii_uppercase
_ALNUM: Final = string.ascii_letters + string.digits
_LOWER_ALNUM: Final = string.ascii_lowercase + string.digits
_CROCKFORD: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_KUBERNETES: Final = "bcdfghjklmnpqrstvwxz2456789"
NOUNS: Final = [
    "order",
    "cart",
    "river",
    "stone",
    "window",
    "table",
    "garden",
    "market",
    "bridge",
    "forest",
    "signal",
    "copper",
    "engine",
    "harbor",
    "ticket",
    "paper",
    "winter",
    "silver",
    "ladder",
    "planet",
    "mirror",
    "rocket",
    "button",
    "castle",
    "desert",
    "orange",
    "pepper",
    "violin",
    "wallet",
    "anchor",
    "basket",
    "candle",
    "dragon",
]
SERVICES: Final = [
    "auth",
    "billing",
    "cart",
    "catalog",
    "checkout",
    "feed",
    "gateway",
    "inventory",
    "mail",
    "payments",
    "pricing",
    "search",
]
CITIES: Final = [
    "Aachen",
    "Bergen",
    "Córdoba",
    "Dakar",
    "Essen",
    "Fukuoka",
    "Gdansk",
    "Hamburg",
    "Izmir",
    "Jakarta",
    "Kyiv",
    "Lagos",
    "Malmö",
    "Nantes",
    "Oslo",
    "Porto",
    "Quito",
    "Riga",
    "Sofia",
    "Turin",
    "Utrecht",
    "Valencia",
    "Wroclaw",
    "Yerevan",
    "Zagreb",
    "Leeds",
    "Boston",
    "Austin",
    "Denver",
    "Tampa",
]
FIRST: Final = [
    "Ada",
    "Ben",
    "Carla",
    "David",
    "Elif",
    "Farid",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kemal",
    "Laura",
    "Mehmet",
    "Nora",
    "Omar",
    "Paula",
    "Rosa",
    "Sven",
    "Tara",
    "Uwe",
]
LAST: Final = [
    "Almeida",
    "Becker",
    "Castro",
    "Dubois",
    "Eriksen",
    "Ferrari",
    "Garcia",
    "Hansen",
    "Ivanov",
    "Jensen",
    "Kowalski",
    "Lopez",
    "Meyer",
    "Novak",
    "Okafor",
    "Petrov",
    "Rossi",
    "Schmidt",
    "Tanaka",
    "Ueda",
    "Vogel",
    "Weber",
    "Yilmaz",
    "Zimmer",
]


def _ip(r: random.Random) -> str:
    return ".".join(str(r.randint(1, 254)) for _ in range(4))


def _time(r: random.Random) -> str:
    return f"{r.randint(0, 23):02}:{r.randint(0, 59):02}:{r.randint(0, 59):02}"


def _date(r: random.Random) -> str:
    return f"{r.randint(2023, 2026)}-{r.randint(1, 12):02}-{r.randint(1, 28):02}"


def _uuid(r: random.Random) -> str:
    h = _hex(r, 32)
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def _mod10(body: str) -> str:
    total = sum(int(c) * (3 if i % 2 == 0 else 1) for i, c in enumerate(reversed(body)))
    return body + str(-total % 10)


def _luhn(body: str) -> str:
    doubled = [int(c) * (2 if i % 2 == 0 else 1) for i, c in enumerate(reversed(body))]
    return body + str(-sum(d - 9 if d > 9 else d for d in doubled) % 10)


def _pick(*forms: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda r: r.choice(forms)(r)


KINDS: Final[Mapping[str, Kind]] = {
    # IDs that a new event brings.
    "object path with uuid": Kind("E", lambda r: f"/v2/{r.choice(NOUNS)}s/{_uuid(r)}/items"),
    "upload file": Kind("E", lambda r: f"/var/spool/upload/{_hex(r, 16)}.tmp"),
    "session cookie": Kind("E", lambda r: f"s:{_of(r, _ALNUM + '-_', 32)}.{_of(r, _ALNUM + '+/', 43)}"),
    "ksuid": Kind("E", lambda r: "2" + _of(r, _ALNUM, 26)),
    "xid": Kind("E", lambda r: "c" + _of(r, "0123456789abcdefghijklmnopqrstuv", 19)),
    "nanoid of ten": Kind("E", lambda r: _of(r, _ALNUM + "-_", 10)),
    "trace header": Kind("E", lambda r: f"Root=1-{_hex(r, 8)}-{_hex(r, 24)};Sampled={r.randint(0, 1)}"),
    "mail message id": Kind("E", lambda r: f"<{_digits(r, 10)}.{_digits(r, 5)}.{_digits(r, 13)}@mail.example.org>"),
    "image by digest": Kind("E", lambda r: f"registry.example/{r.choice(SERVICES)}@sha256:{_hex(r, 64)}"),
    "parcel number 1Z": Kind("E", lambda r: "1Z" + _of(r, _UPPER + string.digits, 6) + _digits(r, 10)),
    "payment reference": Kind("E", lambda r: f"PAY{_digits(r, 12)}"),
    "support case": Kind("E", lambda r: f"CASE-{r.randint(20_000, 999_999):08}"),
    "order with year": Kind("E", lambda r: f"ORD-{r.randint(2022, 2026)}-{r.randint(1, 999_999):06}"),
    "delivery note German": Kind("E", lambda r: f"LS/{r.randint(2022, 2026)}/{r.randint(10_000, 400_000)}"),
    "autoincrement": Kind("E", lambda r: str(48_120_000 + r.randrange(130))),
    "kafka offset": Kind("E", lambda r: str(r.randint(10**9, 4 * 10**10))),
    "epoch in seconds": Kind("E", lambda r: str(r.randint(1_700_000_000, 1_790_000_000))),
    "epoch in microseconds": Kind(
        "E", lambda r: str(r.randint(1_700_000_000, 1_790_000_000) * 10**6 + r.randrange(10**6))
    ),
    "daemon set pod": Kind(
        "E", lambda r: f"{r.choice(['node-exporter', 'fluent-bit', 'cilium'])}-{_of(r, _KUBERNETES, 5)}"
    ),
    "dask worker": Kind("E", lambda r: f"dask-worker-{_uuid(r)}"),
    "batch job at a time": Kind(
        "E", lambda r: f"nightly_{_date(r).replace('-', '')}T{_time(r).replace(':', '')}_{r.choice(NOUNS)}"
    ),
    "hadoop attempt": Kind(
        "E", lambda r: f"attempt_{r.randint(15 * 10**11, 17 * 10**11)}_{r.randint(1, 99):04}_m_{r.randint(0, 400):06}_0"
    ),
    "dagster partition key": Kind("E", lambda r: f"{_date(r)}-{r.randint(0, 23):02}:00|{_uuid(r)}"),
    "etag": Kind("E", lambda r: f'"{_hex(r, 32)}"'),
    "websocket key": Kind("E", lambda r: _b64(r, 16)),
    "temporary table": Kind("E", lambda r: f"tmp_stage_{_hex(r, 10)}"),
    "lock token": Kind("E", lambda r: f"lock:{r.choice(SERVICES)}:{_of(r, _LOWER_ALNUM, 16)}"),
    "search request": Kind("E", lambda r: f"/api/items?filter={r.choice(NOUNS)}&offset={r.randint(0, 5000)}&sort=asc"),
    "bank transaction": Kind("E", lambda r: f"{_date(r).replace('-', '')}{_digits(r, 12)}"),
    "tx hash": Kind("E", lambda r: "0x" + _hex(r, 64)),
    "telegram chat": Kind("E", lambda r: f"-100{_digits(r, 10)}"),
    "celery task result": Kind("E", lambda r: f"celery-task-meta-{_uuid(r)}"),
    "message ids of many programs": Kind(
        "E",
        _pick(
            lambda r: f"<CA{_of(r, _ALNUM + '+=-', 44)}@mail.gmail.com>",
            lambda r: f"<{_uuid(r)}@{r.choice(CITIES).lower()}.example.com>",
            lambda r: f"<{_digits(r, 9)}.{r.randint(1, 9999)}.{_digits(r, 13)}.JavaMail.root@app{r.randint(1, 4)}>",
            lambda r: (
                f"<{_date(r).replace('-', '')}{_digits(r, 6)}.{_hex(r, 10).upper()}@mx{r.randint(1, 3)}.example.org>"
            ),
            lambda r: f"<0102018{_hex(r, 9)}-{_uuid(r)}-000000@eu-west-1.amazonses.com>",
        ),
    ),
    "message ids of Postfix": Kind(
        "E", lambda r: f"<{_date(r).replace('-', '')}{_digits(r, 6)}.{_of(r, '0123456789ABCDEF', 10)}@mx.example.org>"
    ),
    "bounce address": Kind(
        "E", lambda r: f"bounces+{_digits(r, 7)}-{_hex(r, 4)}-{r.choice(FIRST)}=example.org@em.example.com"
    ),
    "calendar event": Kind("E", lambda r: f"{_of(r, '0123456789abcdefghijklmnopqrstuv', 26)}@google.com"),
    "call id by address": Kind("E", lambda r: f"{_digits(r, 10)}-{_digits(r, 5)}@{_ip(r)}"),
    "path of an order": Kind("E", lambda r: f"/users/{r.randint(1, 90_000)}/orders/{r.randint(1, 2_000_000)}"),
    "path of a customer": Kind("E", lambda r: f"/api/v1/customers/{r.randint(10_000, 999_999)}"),
    "path within a shop": Kind(
        "E", lambda r: f"/shops/{r.randint(1, 20)}/orders/{r.randint(100_000, 900_000)}/items/{r.randint(1, 9)}"
    ),
    "path of a job": Kind("E", lambda r: f"/{r.choice(SERVICES)}/{r.choice(NOUNS)}/-/jobs/{_digits(r, 8)}"),
    "paths of several routes": Kind(
        "E",
        _pick(
            lambda r: f"/users/{r.randint(10_000, 990_000)}",
            lambda r: f"/users/{r.randint(10_000, 990_000)}/orders/{r.randint(10_000, 9_000_000)}",
            lambda r: f"/orders/{r.randint(10_000, 9_000_000)}/invoice",
            lambda r: f"/{r.choice(NOUNS)}",
        ),
    ),
    "ticket page": Kind("E", lambda r: f"/helpdesk/tickets/{r.randint(100_000, 480_000)}.html"),
    "container of YARN": Kind(
        "E",
        lambda r: f"container_e{r.randint(1, 40)}_{_digits(r, 13)}_{r.randint(1, 9999):04}_01_{r.randint(1, 90):06}",
    ),
    "Spark standalone": Kind(
        "E", lambda r: f"app-{_date(r).replace('-', '')}{_time(r).replace(':', '')}-{r.randint(0, 99):04}"
    ),
    "job of MapReduce": Kind("E", lambda r: f"job_{r.randint(15 * 10**11, 17 * 10**11)}_{r.randint(1, 9999):04}"),
    "block of HDFS with stamp": Kind("E", lambda r: f"blk_{_digits(r, 10)}_{r.randint(1001, 99_999)}"),
    "task of Hadoop": Kind(
        "E",
        lambda r: f"task_{_date(r).replace('-', '')}{_digits(r, 4)}_{r.randint(1, 40):04}_m_{r.randint(0, 2000):06}",
    ),
    "output of Slurm": Kind("E", lambda r: f"slurm-{r.randint(4_000_000, 9_000_000)}.out"),
    # Texts.
    "French log": Kind(
        "T",
        _pick(
            lambda r: f"Échec de la connexion au serveur {r.choice(NOUNS)} après {r.randint(2, 900)} essais",
            lambda r: f"Le fichier {r.choice(NOUNS)}.dat est introuvable",
            lambda r: f"Utilisateur {r.randint(1, 9999)} déconnecté",
        ),
    ),
    "Spanish log": Kind(
        "T",
        _pick(
            lambda r: f"No se pudo abrir el archivo {r.choice(NOUNS)}{r.randint(1, 999)}",
            lambda r: f"Pedido {_digits(r, 6)} procesado correctamente",
            lambda r: f"Tiempo de espera agotado ({r.randint(1, 90)} s)",
        ),
    ),
    "Portuguese log": Kind(
        "T",
        _pick(
            lambda r: f"Falha ao ligar à base de dados {r.choice(NOUNS)}: tempo esgotado",
            lambda r: f"Sessão {_digits(r, 5)} terminada pelo utilizador",
        ),
    ),
    "Turkish log": Kind(
        "T",
        _pick(
            lambda r: f"{_digits(r, 5)} numaralı sipariş tamamlandı",
            lambda r: f"Sunucuya bağlanılamadı: zaman aşımı ({r.randint(1, 60)} sn)",
            lambda r: f"Dosya açılamadı: {r.choice(NOUNS)}",
        ),
    ),
    "Korean log": Kind(
        "T",
        _pick(
            lambda r: f"서버 {r.randint(1, 9999)}에 연결하지 못했습니다",
            lambda r: f"주문 {_digits(r, 6)} 처리가 완료되었습니다",
            lambda r: f"파일을 열 수 없습니다: 권한이 없습니다 ({r.randint(1, 99)})",
        ),
    ),
    "Arabic log": Kind(
        "T",
        _pick(
            lambda r: f"فشل الاتصال بالخادم {r.randint(1, 9999)} بعد {r.randint(2, 20)} محاولات",
            lambda r: f"تم تسجيل خروج المستخدم {r.randint(1, 9999)}",
        ),
    ),
    "Thai log": Kind(
        "T",
        _pick(
            lambda r: f"ไม่สามารถเชื่อมต่อกับเซิร์ฟเวอร์{r.randint(1, 9999)}ได้",
            lambda r: f"คำสั่งซื้อ{_digits(r, 6)}เสร็จสมบูรณ์แล้ว",
        ),
    ),
    "Polish log": Kind(
        "T",
        _pick(
            lambda r: f"Nie można otworzyć pliku {r.choice(NOUNS)}{r.randint(1, 999)}",
            lambda r: f"Zamówienie nr {_digits(r, 6)} zostało zrealizowane",
        ),
    ),
    "kernel log": Kind(
        "T",
        _pick(
            lambda r: f"EXT4-fs (sd{r.choice('abcd')}{r.randint(1, 9)}): mounted filesystem with ordered data mode",
            lambda r: (
                f"Out of memory: Kill process {r.randint(100, 32000)} ({r.choice(SERVICES)}) score {r.randint(1, 999)}"
            ),
            lambda r: f"eth0: link up, {r.choice(['100', '1000'])}Mbps",
            lambda r: f"CPU{r.randint(0, 63)}: Core temperature above threshold",
        ),
    ),
    "go error": Kind("T", lambda r: f"dial tcp {_ip(r)}:{r.randint(1024, 65535)}: connect: connection refused"),
    "java stack": Kind(
        "T",
        lambda r: (
            f"java.lang.IllegalStateException: {r.choice(NOUNS)} closed\n\tat com.acme.Main.run(Main.java:{r.randint(1, 900)})"
        ),
    ),
    "shell command": Kind(
        "T",
        _pick(
            lambda r: f"tar -czf /backup/{r.choice(NOUNS)}.tar.gz /srv/{r.choice(NOUNS)}",
            lambda r: f"find /data -name '*.{r.choice(NOUNS)}' -mtime +{r.randint(1, 90)} -delete",
            lambda r: f"curl -s http://{_ip(r)}:{r.randint(1024, 9999)}/health | jq .status",
        ),
    ),
    "flux query": Kind(
        "T",
        lambda r: (
            f'from(bucket: "{r.choice(NOUNS)}") |> range(start: -{r.randint(1, 48)}h) |> filter(fn: (r) => r.host == "{r.choice(SERVICES)}{r.randint(1, 99)}")'
        ),
    ),
    "soap body": Kind(
        "T", lambda r: f'<soap:Body><get{r.choice(NOUNS).title()} id="{r.randint(1, 9999)}"/></soap:Body>'
    ),
    "yaml document": Kind(
        "T", lambda r: f"name: {r.choice(NOUNS)}\nreplicas: {r.randint(1, 9)}\nport: {r.randint(1024, 9999)}"
    ),
    "commit message": Kind(
        "T",
        _pick(
            lambda r: f"Fix the {r.choice(NOUNS)} page when {r.choice(NOUNS)} is empty (#{r.randint(1, 9999)})",
            lambda r: f"Merge branch '{r.choice(NOUNS)}-{r.choice(NOUNS)}' into main",
            lambda r: (
                f"Bump {r.choice(NOUNS)} from {r.randint(1, 9)}.{r.randint(0, 9)} to {r.randint(1, 9)}.{r.randint(0, 9)}"
            ),
        ),
    ),
    "syslog time": Kind("T", lambda r: f"{r.choice(['Jan', 'Mar', 'Jun', 'Oct'])} {r.randint(1, 28):2} {_time(r)}"),
    "time with zone name": Kind("T", lambda r: f"{_date(r)} {_time(r)} Europe/Berlin"),
    "backups by rsync": Kind(
        "T",
        lambda r: f"rsync -avz --delete /srv/{r.choice(NOUNS)}/ backup@{r.choice(SERVICES)}:/data/{r.choice(NOUNS)}",
    ),
    "Java processes": Kind(
        "T",
        lambda r: (
            f"java -Xmx{r.randint(1, 16)}g -jar /opt/{r.choice(SERVICES)}/{r.choice(NOUNS)}.jar --spring.profiles.active=prod"
        ),
    ),
    "dumps of a database": Kind(
        "T",
        lambda r: (
            f"pg_dump -h {r.choice(SERVICES)} -U app -Fc -f /backup/{r.choice(NOUNS)}{r.randint(1, 999)}.dump shop"
        ),
    ),
    "containers started": Kind(
        "T",
        lambda r: f"docker run --rm -v /srv/{r.choice(NOUNS)}:/data -p {r.randint(1024, 9999)}:80 {r.choice(SERVICES)}",
    ),
    "videos converted": Kind(
        "T",
        lambda r: f"ffmpeg -i {r.choice(NOUNS)}{r.randint(1, 999)}.mov -c:v libx264 -crf {r.randint(18, 28)} out.mp4",
    ),
    "commands of cron": Kind(
        "T",
        _pick(
            lambda r: f"/usr/local/bin/{r.choice(NOUNS)}.sh --since {_date(r)} >> /var/log/{r.choice(NOUNS)}.log 2>&1",
            lambda r: f"cd /srv/{r.choice(SERVICES)} && ./run {r.choice(NOUNS)} -n {r.randint(1, 99)}",
            lambda r: f"python3 manage.py {r.choice(NOUNS)} --limit {r.randint(10, 900)} --verbosity 0",
        ),
    ),
    "kubectl": Kind(
        "T",
        lambda r: (
            f"kubectl -n {r.choice(SERVICES)} exec {r.choice(NOUNS)}-{r.randint(0, 9)} -- cat /etc/{r.choice(NOUNS)}.conf"
        ),
    ),
    # Several attributes in one value.
    "mqtt topic": Kind("C", lambda r: f"plant{r.randint(0, 3)}/line{r.randint(0, 9)}/dev{r.randint(0, 399):03}"),
    "graphite path": Kind(
        "C", lambda r: f"prod.{r.choice(['eu', 'us', 'ap'])}.{r.choice(SERVICES)}.web{r.randint(1, 40):02}"
    ),
    "rack position": Kind("C", lambda r: f"DC{r.randint(1, 3)}-R{r.randint(1, 20):02}-U{r.randint(1, 42):02}"),
    "key path": Kind("C", lambda r: f"region={r.choice(['eu', 'us'])}/shop={r.choice(CITIES)}/till={r.randint(1, 12)}"),
    "comma list": Kind("C", lambda r: f"{r.choice(CITIES)},{r.choice(['gas', 'water', 'heat'])},{r.randint(1, 20)}"),
    "tenant#shard#type": Kind("C", lambda r: f"{r.choice(NOUNS)}#{r.randint(0, 15)}#{r.choice(['read', 'write'])}"),
    "underscore building": Kind(
        "C",
        lambda r: f"B{r.randint(1, 5)}_F{r.randint(0, 9)}_Room{r.randint(100, 140)}_{r.choice(['temp', 'co2', 'hum'])}",
    ),
    "k8s labels json": Kind(
        "C",
        lambda r: f'{{"app":"{r.choice(SERVICES)}","tier":"{r.choice(["web", "db"])}","zone":"z{r.randint(1, 3)}"}}',
    ),
    "space pairs": Kind(
        "C", lambda r: f"site={r.choice(CITIES)} type={r.choice(['pv', 'wind'])} unit={r.randint(1, 30)}"
    ),
    "double colon": Kind(
        "C", lambda r: f"{r.choice(['emea', 'apac'])}::{r.choice(SERVICES)}::{r.choice(['blue', 'green'])}"
    ),
    "gcp resource path": Kind(
        "C",
        lambda r: (
            f"projects/{r.choice(NOUNS)}-{r.randint(1, 9)}/locations/europe-west{r.randint(1, 4)}/clusters/{r.choice(SERVICES)}"
        ),
    ),
    "tilde": Kind("C", lambda r: f"{r.choice(CITIES)}~{r.choice(['store', 'web'])}~{r.choice(['EUR', 'USD', 'GBP'])}"),
    # Things that last.
    "mac": Kind("N", lambda r: f"00:1b:{r.choice(['21', '44', 'a9'])}:{_hex(r, 2)}:{_hex(r, 2)}:{_hex(r, 2)}"),
    "mac plain": Kind("N", lambda r: r.choice(["a4cf12", "3c71bf", "240ac4"]) + _hex(r, 6)),
    "eui-64 dashes": Kind(
        "N", lambda r: "-".join(["00", "0D", "6F", "FF", "FE", *(_hex(r, 2).upper() for _ in range(3))])
    ),
    "imei": Kind("G", lambda r: _luhn("35" + _digits(r, 12))),
    "meter serial": Kind("G", lambda r: "1ESY" + _digits(r, 10)),
    "person": Kind("N", lambda r: f"{r.choice(FIRST)} {r.choice(LAST)}"),
    "user name": Kind("N", lambda r: f"{r.choice(FIRST).lower()}.{r.choice(LAST).lower()}"),
    "e-mail": Kind("G", lambda r: f"{r.choice(FIRST).lower()}.{r.choice(LAST).lower()}{r.randint(1, 99)}@example.com"),
    "cidr": Kind("N", lambda r: f"10.{r.randint(0, 255)}.{r.randint(0, 255)}.0/24"),
    "gtin-8": Kind("N", lambda r: _mod10(_digits(r, 7))),
    "isbn": Kind("N", lambda r: _mod10("978" + _digits(r, 9))),
    # Names and codes.
    "cpu model": Kind(
        "N",
        lambda r: (
            f"Intel(R) Xeon(R) {r.choice(['Gold', 'Silver', 'Platinum'])} {r.randint(4100, 8380)} CPU @ {r.randint(20, 38) / 10}0GHz"
        ),
    ),
    "disk model": Kind(
        "N",
        lambda r: (
            f"{r.choice(['Samsung SSD', 'WDC WD', 'ST', 'KINGSTON SA'])} {r.randint(100, 9999)}{r.choice(['EVO', 'PRO', 'G', 'NM'])} {r.choice([1, 2, 4])}TB"
        ),
    ),
    "operating system": Kind(
        "N",
        lambda r: (
            f"{r.choice(['Ubuntu', 'Debian GNU/Linux', 'Windows Server', 'Red Hat Enterprise Linux'])} {r.randint(7, 24)}.{r.randint(0, 12):02}"
        ),
    ),
    "alert name": Kind(
        "N",
        lambda r: (
            f"{r.choice(['Kube', 'Node', 'Pod', 'Disk'])}{r.choice(NOUNS).title()}{r.choice(['High', 'Down', 'Slow', 'Missing'])}"
        ),
    ),
    "job title": Kind(
        "N",
        lambda r: (
            f"{r.choice(['Senior', 'Junior', 'Lead', 'Chief'])} {r.choice(NOUNS).title()} {r.choice(['Engineer', 'Officer', 'Analyst'])}"
        ),
    ),
    "company": Kind("N", lambda r: f"{r.choice(LAST)} {r.choice(['GmbH', '& Sons Ltd', 'S.A.', 'Inc.'])}"),
    "product title": Kind(
        "N",
        lambda r: f"{r.choice(['Small', 'Large', 'Red', 'Blue'])} {r.choice(NOUNS).title()} {r.randint(10, 99)} cm",
    ),
    "java class": Kind(
        "N",
        lambda r: f"com.acme.{r.choice(SERVICES)}.{r.choice(NOUNS).title()}{r.choice(['Service', 'Handler', 'Task'])}",
    ),
    "metric name": Kind(
        "N", lambda r: f"{r.choice(SERVICES)}_{r.choice(NOUNS)}_{r.choice(['total', 'seconds', 'bytes'])}"
    ),
    "http route": Kind("N", lambda r: f"/api/v{r.randint(1, 3)}/{r.choice(NOUNS)}s/{{id}}/{r.choice(NOUNS)}"),
    "file name": Kind("N", lambda r: f"{r.choice(NOUNS)}_{r.choice(NOUNS)}.py"),
    "windows host": Kind("N", lambda r: f"DESKTOP-{r.choice(CITIES).upper()[:4]}{r.randint(1, 99):02}"),
    "vm name": Kind("N", lambda r: f"vm-{r.choice(SERVICES)}-{r.randint(1, 300):03}"),
    "sensor number": Kind("N", lambda r: f"sensor-{r.randint(1, 3000):06}"),
    "asn": Kind("N", lambda r: f"AS{r.randint(1000, 64000)}"),
    "port": Kind("N", lambda r: str(r.randint(1, 65535))),
    "postcode uk": Kind("N", lambda r: f"{_of(r, _UPPER, 2)}{r.randint(1, 20)} {r.randint(1, 9)}{_of(r, _UPPER, 2)}"),
    "postcode de": Kind("N", lambda r: f"{r.randint(1067, 99998):05}"),
    "currency pair": Kind("N", lambda r: f"{_of(r, _UPPER, 3)}/{_of(r, _UPPER, 3)}"),
    "stock ticker": Kind("N", lambda r: _of(r, _UPPER, r.randint(2, 5))),
    "isin": Kind("N", lambda r: r.choice(["US", "DE", "FR"]) + _of(r, string.digits, 9) + str(r.randint(0, 9))),
    "part number": Kind(
        "N", lambda r: f"{_of(r, _UPPER, 2)}{r.randint(100, 999)}-{r.randint(10, 99)}{r.choice('ABC')}"
    ),
    "stop name": Kind("N", lambda r: f"{r.choice(CITIES)}, {r.choice(NOUNS).title()}straße"),
    "Chinese device": Kind(
        "N",
        lambda r: (
            f"{r.choice('一二三四五六七八九十')}号车间{r.choice(['温度', '压力', '湿度', '流量'])}传感器{r.randint(1, 40)}"
        ),
    ),
    "Japanese place": Kind(
        "N",
        lambda r: (
            r.choice(["東京都", "大阪府", "北海道", "福岡県"])
            + r.choice(["中央区", "港区", "札幌市", "博多区", "北区"])
            + r.choice(["本町", "栄町", "緑町", "旭町", "花園", "銀座"])
        ),
    ),
    "Russian room": Kind("N", lambda r: f"Кабинет {r.randint(100, 399)}"),
    "Arabic city": Kind(
        "N", lambda r: r.choice(["دبي", "القاهرة", "الرياض", "بيروت", "عمان", "تونس"]) + f" {r.randint(1, 30)}"
    ),
    "time zone": Kind("N", lambda r: f"{r.choice(['Europe', 'America', 'Asia', 'Africa'])}/{r.choice(CITIES)}"),
    "mime type": Kind(
        "N", lambda r: f"{r.choice(['application', 'text', 'image'])}/{r.choice(['x-', 'vnd.'])}{r.choice(NOUNS)}"
    ),
    "rgb": Kind("N", lambda r: _hex(r, 6)),
    "icao aircraft": Kind("N", lambda r: r.choice(["3c", "40", "4b"]) + _hex(r, 4)),
    "usb id": Kind("N", lambda r: f"{_hex(r, 4)}:{_hex(r, 4)}"),
    "error code": Kind("N", lambda r: f"0x8007{_hex(r, 4).upper()}"),
    "oracle error": Kind("N", lambda r: f"ORA-{r.randint(1, 29999):05}"),
    "oid": Kind("N", lambda r: f"1.3.6.1.4.1.{r.randint(1, 60000)}.{r.randint(1, 9)}.{r.randint(1, 9)}"),
    "db table": Kind("N", lambda r: f"{r.choice(NOUNS)}.{r.choice(NOUNS)}_{r.choice(NOUNS)}"),
    "semver range": Kind("N", lambda r: f"^{r.randint(0, 9)}.{r.randint(0, 30)}.{r.randint(0, 9)}"),
    "coordinates dms": Kind("N", lambda r: f"{r.randint(1, 89)}°{r.randint(0, 59)}'N"),
    "sql type": Kind("N", lambda r: f"varchar({r.randint(1, 4000)})"),
    "kernel version": Kind("N", lambda r: f"{r.randint(3, 6)}.{r.randint(0, 19)}.0-{r.randint(10, 200)}-generic"),
    "branch name": Kind("N", lambda r: f"feature/{r.choice(NOUNS)}-{r.choice(NOUNS)}"),
    "unit": Kind(
        "N",
        lambda r: (
            f"{r.choice(['m', 'k', 'µ', ''])}{r.choice(['W', 'A', 'V', 'Pa', 'Hz'])}/{r.choice(['h', 's', 'm²', 'K'])}"
        ),
    ),
    "thing with id": Kind("N", lambda r: f"shellyplug-s-{r.randint(1, 400)}"),
    "route of a framework": Kind("N", lambda r: f"/{r.choice(NOUNS)}s/:id/{r.choice(NOUNS)}s/:{r.choice(NOUNS)}Id"),
    "page of a blog": Kind("N", lambda r: f"/{r.choice(NOUNS)}/page/{r.randint(1, 40)}"),
    "path of a room": Kind("G", lambda r: f"/floor/{r.randint(0, 6)}/room/{r.randint(100, 640)}"),
    "path of a device": Kind("N", lambda r: f"/devices/{r.randint(1, 900)}/state"),
    "path of a store": Kind("N", lambda r: f"/stores/{r.randint(1000, 65_000)}/stock"),
    "library": Kind(
        "N", lambda r: f"/usr/lib/python3.{r.randint(6, 13)}/site-packages/{r.choice(NOUNS)}{r.choice(NOUNS)}"
    ),
    "device of the kernel": Kind(
        "N", lambda r: f"/sys/class/net/{r.choice(['eth', 'wlan', 'br', 'bond'])}{r.randint(0, 40)}"
    ),
    "node of OPC UA": Kind("N", lambda r: f"ns=2;i={r.randint(10_000, 65_000)}"),
    "mailing list": Kind(
        "N", lambda r: f"{r.choice(NOUNS)}-{r.choice(['dev', 'users', 'announce'])}@lists.example.org"
    ),
    "process": Kind(
        "N", lambda r: f"{r.choice(SERVICES)}: {r.choice(['worker', 'master', 'cache', 'writer'])} process"
    ),
    "daemon": Kind("N", lambda r: f"/usr/sbin/{r.choice(NOUNS)}d -{r.choice('DFnf')}"),
    "Windows service": Kind("N", lambda r: f"C:\\Program Files\\{r.choice(NOUNS).title()}\\{r.choice(NOUNS)}.exe"),
    "build of an app": Kind(
        "N", lambda r: f"{r.randint(1, 9)}.{r.randint(0, 20)}.{r.randint(0, 9)}+{r.randint(100, 9000)}"
    ),
    "command without arguments": Kind(
        "N", lambda r: f"{r.choice(NOUNS)} {r.choice(['start', 'stop', 'status', 'reload'])}"
    ),
    "line and station": Kind(
        "N", lambda r: f"U{r.randint(1, 9)} {r.choice(CITIES)} {r.choice(['Hbf', 'Nord', 'Süd', 'Markt'])}"
    ),
    # Attributes between several separators, and in brackets.
    "host, port and service": Kind(
        "C", lambda r: f"web{r.randint(1, 20):02}:{r.choice([8080, 8443])}:{r.choice(SERVICES)}"
    ),
    "port in slashes": Kind("C", lambda r: f"db{r.randint(1, 30)}/{r.choice([5432, 3306])}/{r.choice(SERVICES)}"),
    "zone, machine type and stage": Kind(
        "C",
        lambda r: (
            f"{r.choice(['eu-west-1a', 'us-east-1b'])}_{r.choice(['m5', 'c5', 't3'])}.{r.choice(['large', 'small'])}_{r.choice(['prod', 'qa', 'dev'])}"
        ),
    ),
    "part at a site": Kind("C", lambda r: f"{r.choice(['fan', 'pump', 'valve'])}{r.randint(1, 9)}@{r.choice(CITIES)}"),
    "service at a host with port": Kind(
        "C", lambda r: f"{r.choice(SERVICES)}@{r.choice(CITIES)}:{r.randint(7000, 7003)}"
    ),
    "square brackets": Kind(
        "C", lambda r: f"[{r.choice(['DE', 'FR', 'NL'])}][{r.choice(CITIES)}][Store {r.randint(1, 9)}]"
    ),
    "round brackets": Kind(
        "C", lambda r: f"({r.choice('ABC')})(line {r.randint(1, 9)})({r.choice(['press', 'oven', 'saw'])})"
    ),
    # Numbers of documents and jobs.
    "incident": Kind("E", lambda r: f"INC{r.randint(12_000, 18_000):07}"),
    "requested item": Kind("E", lambda r: f"RITM{r.randint(2_000_000, 2_000_900)}"),
    "number behind a day": Kind(
        "E", lambda r: f"2024-{r.randint(1, 12):02}-{r.randint(1, 28):02}-{r.randint(100, 900):06}"
    ),
    "number behind a date": Kind(
        "E", lambda r: f"2024{r.randint(1, 12):02}{r.randint(1, 28):02}/{r.randint(100, 1200):05}"
    ),
    "array job": Kind("E", lambda r: f"{r.randint(1_396_000, 1_397_400)}[{r.randint(0, 40)}].pbs01"),
    "array job of Slurm": Kind("E", lambda r: f"{r.randint(7_710_000, 7_711_600)}_{r.randint(0, 99)}"),
    "client of analytics": Kind(
        "E", lambda r: f"{r.randint(10**8, 2 * 10**9)}.{r.randint(1_700_000_000, 1_709_000_000)}"
    ),
    "cookie of a pixel": Kind("E", lambda r: f"fb.1.{r.randint(17 * 10**11, 171 * 10**10)}.{r.randint(10**8, 10**10)}"),
    "request without a date": Kind(
        "T",
        lambda r: (
            f"{_ip(r)} {r.choice(['GET', 'POST'])} /p/{r.randint(1, 999)}?q={r.randint(1, 99)} 200 {r.randint(1, 9999)}"
        ),
    ),
    # What lasts, and what is a length of time.
    "duration": Kind("N", lambda r: f"{r.randint(0, 30)}h{r.randint(0, 59)}m{r.randint(0, 59)}s"),
    "duration of ISO 8601": Kind("N", lambda r: f"PT{r.randint(0, 23)}H{r.randint(0, 59)}M{r.randint(0, 59)}S"),
    "sensor on 1-Wire": Kind("N", lambda r: f"28-{_hex(r, 12)}"),
    "Zigbee device": Kind("N", lambda r: f"0x00158d00{_hex(r, 8)}"),
    "node of a cloud": Kind(
        "N", lambda r: f"gke-prod-pool-{r.randint(0, 2)}-{_hex(r, 8)}-{_of(r, _KUBERNETES, 4)}.c.acme.internal"
    ),
    "alias of a port": Kind("N", lambda r: f"AP floor {r.randint(0, 8)} room {r.randint(100, 400)}"),
    "ship": Kind("N", lambda r: str(r.randint(211_000_000, 211_900_000))),
    "a name and its alias": Kind(
        "N", lambda r: (lambda n: f"{n}.example.com|www.{n}.example.com")(r.choice(NOUNS) + _digits(r, 2))
    ),
    "two hosts": Kind("N", lambda r: (lambda n: f"web{n}|web{n + 1}")(r.randint(1, 200))),
}

HELD_BACK: Final = frozenset(name for name in KINDS if zlib.crc32(hashlib.sha256(name.encode()).digest()) % 3 == 0)
"""By a hash of the name, so that nobody chose them."""
