"""Labelled sets of names of tables, measurements, or columns, as well-known programs and their users choose them.

D: names that differ in data; most of them have to be in one family. N: names of different things, some with a number or
a date in them; none is in a family. A third of the sets is kept out of every run until a change is done.
"""

from __future__ import annotations

import hashlib
import random
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

HEX: Final = "0123456789abcdef"
FOUND: Final = 0.9
"""Share of the names labelled D that one family has to have."""


class Names(NamedTuple):
    """One set of names, and what an expert says of it."""

    label: str
    names: list[str]
    piece: str = ""
    """What the template of the family has to contain, such as `{date}`."""


def _hex(r: random.Random, count: int, characters: str = HEX) -> str:
    return "".join(r.choices(characters, k=count))


def _many(count: int, make: Callable[[random.Random], str]) -> list[str]:
    chance = random.Random(count)
    return list(dict.fromkeys(make(chance) for _ in range(count)))


def _mac(r: random.Random, separator: str, vendor: str = "a4cf12") -> str:
    digits = vendor + _hex(r, 6)
    return separator.join(digits[i : i + 2] for i in range(0, 12, 2))


def _epochs(form: str, step: int, count: int, factor: int = 1) -> list[str]:
    start = int(datetime(2024, 3, 1, tzinfo=UTC).timestamp())
    return [form.format((start + i * step) * factor) for i in range(count)]


SETS: Final[Mapping[str, Names]] = {
    # Numbers that belong to a word.
    "memory of the kernel": Names(
        "N", ["MemTotal", "Active_anon", "DirectMap4k", "DirectMap2M", "DirectMap1G", "HugePages_Total", "Hugetlb"]
    ),
    "netstat of the kernel": Names(
        "N", ["InECT0Pkts", "InECT1Pkts", "InNoECTPkts", "InCEPkts", "TCPSackShifted", "TCPTimeWait", "Tcp6Resets"]
    ),
    "counters of the kernel by version": Names(
        "N", ["IpExtInECT0Pkts", "IpExtInECT1Pkts", "Ip6InECT0Pkts", "Ip6OutPkts2"]
    ),
    "types of messages": Names("N", [f"IcmpInType{n}" for n in (0, 3, 8, 11)]),
    "errors of a load balancer": Names("N", [f"HTTPCode_ELB_{n}_Count" for n in (500, 502, 503, 504)]),
    "versions of a protocol": Names("N", [f"tls{n}_handshakes" for n in (10, 11, 12, 13)]),
    "states of collectd's apache": Names("N", [f"httpd_status_codes_{n}" for n in (200, 204, 301, 304, 404, 500, 503)]),
    "classes of answers": Names("N", [f"nginx_responses_{n}xx" for n in range(1, 6)]),
    "sizes of frames": Names("N", [f"rx_{n}_byte_packets" for n in (64, 128, 256, 512, 1024, 1518, 9216)]),
    "sizes in RMON": Names("N", [f"etherStatsPkts{n}Octets" for n in ("64", "65to127", "128to255", "256to511")]),
    "moving averages": Names("N", ["sma_20", "sma_50", "sma_100", "sma_200", "ema_12", "ema_26", "rsi_14"]),
    "dust by size": Names("N", [f"particles_{n}um" for n in ("03", "05", "10", "25", "50", "100")]),
    "codecs": Names("N", ["h264Frames", "h265Frames", "vp8Frames", "vp9Frames", "av1Frames"]),
    "collectors of the JVM": Names("N", ["G1YoungGen", "G1OldGen", "PSScavenge", "ZGCMajor", "Gen0Size", "Gen1Size"]),
    "classes of a server": Names("N", ["HttpServer2", "HttpClient", "Http2Session", "Http3Session", "Tls13Handshake"]),
    "percentiles of Dropwizard": Names("N", [f"{n}thPercentile" for n in ("50", "75", "95", "98", "99", "999")]),
    "load balancer of AWS": Names("N", [f"HTTPCode_Target_{n}XX_Count" for n in range(2, 6)]),
    "gases": Names("N", ["co2", "co", "o3", "no2", "so2", "nh3", "pm1_0", "pm2_5", "pm10_0", "h2s", "ch4"]),
    "chips": Names("N", ["bme280", "bmp180", "bmp388", "sht31", "ads1115", "ds18b20", "mpu6050", "ina219", "max31855"]),
    "SQL states": Names("N", [f"sqlstate_{n}" for n in ("08006", "23505", "40001", "40P01", "53300", "57014")]),
    "disk of statsd": Names("D", [f"app.customer.{n}.logins" for n in (118820, 208003, 314159, 442201, 530017)], "{n}"),
    "rooms": Names("D", [f"room_{n}_temperature" for n in (101, 102, 103, 104, 201, 202, 203, 204, 301)], "{n}"),
    "meters": Names("D", [f"meter_{n}" for n in (41023, 41877, 52001, 60718, 71193, 80442)], "{n}"),
    "phones": Names("D", [f"calls_{n}" for n in (4915112345678, 4917098765432, 4916055501234, 4915799887766)]),
    "guilds": Names("D", _many(12, lambda r: f"guild_{r.randint(10**17, 10**18)}_messages")),
    "disks of a shelf": Names("D", [f"disk{n:02}_temp" for n in range(24)], "{n}"),
    "slabs of memcached": Names("D", [f"items.{n}.evicted" for n in range(1, 20)], "{n}"),
    # Dates.
    "epochs by day": Names("D", _epochs("events_{}", 86_400, 12), "{date}"),
    "epochs in milliseconds": Names("D", _epochs("snapshot-{}", 3_600, 20, 1000), "{date}"),
    "epochs of runs": Names("D", [f"run_{1_709_251_200 + 97_311 * i + 13 * i * i}_steps" for i in range(9)], "{date}"),
    "two of months with m": Names("D", ["events_2024m03", "events_2024m04"], "{date}"),
    "two of data streams": Names("D", [f".ds-logs-app-2024.03.{d}-000001" for d in (12, 13)], "{date}"),
    "two of days first": Names("D", ["log_12032024", "log_13032024"], "{date}"),
    "three short days": Names("D", ["log_12.03.24", "log_13.03.24", "log_14.03.24"], "{date}"),
    "three months of a short year": Names("D", ["orders_2403", "orders_2404", "orders_2405"]),
    "two days with hours": Names("D", ["dump_2024-03-12T0400", "dump_2024-03-13T0400"], "{date}"),
    "named months": Names("D", ["sales_mar24", "sales_apr24", "sales_may24", "sales_jun24"], "{date}"),
    "fiscal years": Names("D", ["budget_fy2022", "budget_fy2023", "budget_fy2024"], "{date}"),
    "German weeks": Names("D", ["plan_2024_KW10", "plan_2024_KW11"], "{date}"),
    "hours by day": Names("D", [f"hits_2024031{d}{h:02}" for d in (2, 3) for h in range(24)], "{date}"),
    "years and a region": Names("D", [f"sales_{r}_{y}" for r in ("emea", "apac") for y in (2022, 2023, 2024)]),
    # Of which some are years, and none is reported: a hash as the name spreads what is written.
    "hashes of Timestream": Names("N", [str(n) for n in range(0, 8192, 3)]),
    "numbers with years among them": Names("D", [f"cam_{n}" for n in range(1900, 2150)], "{n}"),
    "products by year": Names("N", ["windows_2012", "windows_2016r2", "exchange_2019", "sqlserver_2022"]),
    "standards": Names("N", ["iso_9001", "iso_14001", "iso_27001", "rfc_2544", "din_2403"]),
    "one backup": Names("N", ["orders", "orders_backup_20240312", "customers", "customers_old"]),
    # Short hexadecimal numbers and addresses of devices.
    "six of hex": Names("D", _many(40, lambda r: f"dev_{_hex(r, 6)}"), "{id}"),
    "six of hex alone": Names("D", _many(40, lambda r: _hex(r, 6)), "{id}"),
    "four of hex": Names("D", _many(60, lambda r: f"zigbee_{_hex(r, 4)}_temperature"), "{id}"),
    "six capitals of Tasmota": Names("D", _many(20, lambda r: f"tasmota_{_hex(r, 6, HEX.upper())}"), "{id}"),
    "Shelly": Names("D", _many(12, lambda r: f"shellyplug-s-{_hex(r, 6, HEX.upper())}"), "{id}"),
    "hashed names": Names("D", _many(30, lambda r: f"t_{_hex(r, 8)}_values"), "{id}"),
    "address with colons": Names("D", _many(20, lambda r: _mac(r, ":")), "{mac}"),
    "address with hyphens": Names("D", _many(20, lambda r: f"sensor-{_mac(r, '-').upper()}"), "{mac}"),
    "address with underscores": Names("D", _many(20, lambda r: f"ble_{_mac(r, '_', 'd00f1b')}_rssi"), "{mac}"),
    "address alone": Names("D", _many(20, lambda r: _mac(r, "")), "{id}"),
    "two addresses": Names("D", ["tag_f0:9f:c2:11:22:a3", "tag_f0:9f:c2:77:1e:03"], "{mac}"),
    "EUI-64": Names("D", _many(20, lambda r: f"node_70b3d5{_hex(r, 10)}"), "{id}"),
    "words of hex letters": Names("N", ["facade", "decade", "beaded", "efface", "added", "fade", "dad", "bead1"]),
    "converters": Names("N", ["adc0", "adc1", "dac0", "dac1", "cab2", "bed1", "face2", "feed3"]),
    "kitchen words": Names("N", ["coffee_beans", "cafe_open", "bad_beef", "dead_feed", "face_add", "ace_fade"]),
    "columns of a game": Names("N", ["deck_a", "deck_b", "deck_c", "cafe01", "cafe02", "fee_2a"]),
    "codecs by four letters": Names(
        "N", [f"codec_{c}_seconds" for c in ("mp4a", "h264", "av01", "hvc1", "vp09", "ac3e")]
    ),
    "places of a shelf": Names("N", ["slot_01_02_03_04_05_06", "slot_01_02_03_04_05_08"]),
    "channels of a logger": Names("D", [f"s{n:03d}" for n in range(1, 301)], "{n}"),
    "features of a model": Names("D", [f"model.x{n}" for n in range(120)], "{n}"),
    "hours of a day": Names("N", [f"h{n}" for n in range(24)]),
    "percentiles of a latency": Names("N", [f"latency_p{n}" for n in (*range(1, 100, 2), 99)]),
    "answers of a server": Names("N", [f"http_{n}" for n in range(200, 204)] + [f"http_{n}" for n in range(400, 430)]),
    "words that end in a number": Names("N", ["stage_one1", "beta_two2", "gamma_abc123", "delta_bad404", "eps_dad101"]),
}

HELD_BACK: Final = frozenset(name for name in SETS if zlib.crc32(hashlib.sha256(name.encode()).digest()) % 3 == 0)
"""By a hash of the name, so that nobody chose them."""
