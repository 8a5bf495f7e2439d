"""Layouts on InfluxDB 1.x and 3: networks, markets, machines and cars."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.homes_and_builds import LEAK, TELEGRAF, joined
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, kept, table


def _mac(noise: Noise, vendor: str) -> str:
    return vendor + "".join(f":{noise.randrange(256):02x}" for _ in range(3))


# --- UniFi Poller -----------------------------------------------------------------------------------------------------


def _clients(guests: int) -> Dataset:
    noise = Noise(75)
    site = {"site_name": "Default (default)", "source": "https://192.168.1.1"}
    own = [
        {
            "mac": _mac(noise, "3c:22:fb"),
            "name": f"{who}s {what}",
            "oui": "Apple, Inc.",
            "ap_name": ("U6-Lite Flur", "U6-Pro Büro")[n % 2],
            "essid": "heimnetz",
            "is_guest": "false",
            "is_wired": "false",
            **site,
        }
        for n, (who, what) in enumerate((w, t) for w in ("Jörg", "Zoé", "Amélie", "Piet") for t in ("iPhone", "iPad"))
    ]
    passing = [
        {"mac": _mac(noise, "d6:1f:0a"), "ap_name": "U6-Mesh Hof", "essid": "Café Gäste", "is_guest": "true", **site}
        for _ in range(guests)
    ]
    used = {"rx_bytes": (10**4, 10**9), "tx_bytes": (10**4, 10**9), "signal": (-82, -41), "satisfaction": (60, 100)}
    parts = [table("clients", own, used, instants=100)]
    if guests:
        parts.append(table("clients", passing, used, alive=30, instants=100))
    points = [{"name": n, "type": "uap", "version": "6.6.55", **site} for n in ("U6-Lite Flur", "U6-Pro Büro")]
    return kept(joined(*parts), table("uap", points, {"num_sta": (0, 40), "uptime": (10**4, 10**6)}, instants=100))


# --- Telegraf's netflow -----------------------------------------------------------------------------------------------


def _address(noise: Noise) -> str:
    return f"{noise.randint(11, 200)}.{noise.randint(0, 255)}.{noise.randint(0, 255)}.{noise.randint(1, 254)}"


def _netflow(converted: bool) -> Dataset:
    ends: dict[str, Any] = {
        "src": _address,
        "dst": lambda noise: f"10.20.{noise.randint(0, 3)}.{noise.randint(2, 60)}",
        "src_port": (lambda noise: str(noise.randint(1_024, 65_535))) if converted else (1_024, 65_535),
    }
    flow = {
        "in_bytes": (40, 9 * 10**6),
        "in_packets": (1, 6_000),
        "dst_port": [443, 22, 53],
        "protocol": ["tcp", "udp"],
    }
    exporters = [{"source": f"172.16.0.{n}", "version": "NetFlowV9", "host": "collector"} for n in (1, 2)]
    made = [e | ends for e in exporters] if converted else exporters
    fields = flow if converted else flow | ends
    return kept(table("netflow", made, fields, instants=2_500, step=timedelta(seconds=11), apart=timedelta(seconds=3)))


# --- InfluxDB 3: trades of an exchange --------------------------------------------------------------------------------

_PAIRS: Final = {"BTCUSDT": 67_000.0, "ETHUSDT": 3_400.0, "SOLUSDT": 185.0, "DOGEEUR": 0.17, "1INCHEUR": 3.9}


def _trades(text: bool) -> Dataset:
    """The exchange sends prices as text, and a bridge may write them so."""

    def said(middle: float) -> Any:
        return (lambda n: f"{n.uniform(0.98, 1.02) * middle:.8f}") if text else (middle * 0.98, middle * 1.02)

    ways = [(pair, side) for pair in _PAIRS for side in ("buy", "sell")]
    parts = [
        table(
            "trades",
            [{"exchange": "binance", "symbol": pair, "side": side}],
            {
                "price": said(_PAIRS[pair]),
                "qty": said(0.4),
                "trade_id": (3 * 10**9, 4 * 10**9),
                "is_maker": [True, False],
            },
            instants=700,
            step=timedelta(seconds=3),
        )
        for pair, side in ways
    ]
    candle = dict.fromkeys(("open", "high", "low", "close"), (60000.0, 70000.0)) | {"volume": (1.0, 900.0)}
    pairs = [{"exchange": "binance", "symbol": pair, "interval": "1m"} for pair in _PAIRS]
    return kept(joined(*parts), table("klines", pairs, candle, instants=200, step=timedelta(minutes=1)))


# --- InfluxDB 3: OPC UA by Telegraf -----------------------------------------------------------------------------------

_LINES: Final = [("Abfüllung", f"Linie{n}") for n in (1, 2, 3)] + [("Verpackung", f"Linie{n}") for n in (1, 2)]
_NODES: Final = {
    "Temperatur": (20.0, 90.0),
    "Druck_bar": (0.5, 8.0),
    "Drehzahl": (0.0, 3_000.0),
    "Strom_A": (0.0, 60.0),
}


def _opcua_dirty() -> Dataset:
    # Without groups and default_tags: each node is a field of its own name, in a row of its own.
    parts = [
        table(
            "opcua",
            [{"id": f"ns=3;s={hall}.{line}.{node}", "host": "edge1"}],
            {f"{hall}_{line}_{node}": of, "Quality": "The operation succeeded. StatusGood (0x0)"},
            instants=120,
            step=timedelta(seconds=10),
        )
        for hall, line in _LINES
        for node, of in _NODES.items()
    ]
    return kept(joined(*parts))


def _opcua_clean() -> Dataset:
    machines = [{"halle": hall, "linie": line, "host": "edge1"} for hall, line in _LINES]
    return kept(table("opcua", machines, _NODES, instants=480, step=timedelta(seconds=10)))


# --- InfluxDB 3: cars -------------------------------------------------------------------------------------------------


def _vins() -> list[str]:
    noise = Noise(76)
    letters = "ABCDEFGHJKLMNPRSTUVWXYZ0123456789"
    return [f"WVWZZZE1Z{''.join(noise.choice(letters) for _ in '12')}P{noise.randrange(10**5):05}" for _ in range(60)]


_CAN: Final = {"soc": (4.0, 100.0), "speed": (0.0, 130.0), "odo_km": (100, 90_000), "batt_temp": (-9.0, 45.0)}


def _cars_dirty() -> Dataset:
    return kept(*(table(f"can_{vin}", [{}], _CAN, instants=40) for vin in _vins()))


def _cars_clean() -> Dataset:
    return kept(table("can", [{"vin": vin, "modell": "ID.3"} for vin in _vins()], _CAN, instants=40))


LAYOUTS: Final = (
    Layout(
        "unifi-poller",
        "influxdb1",
        "https://unpoller.com/docs/install/configuration",
        lambda: _clients(1_600),
        lambda: _clients(0),
        (Wanted(LEAK, "clients.mac", "guests' phones make up an address for each visit: leave guests out"),),
    ),
    Layout(
        "telegraf-netflow",
        "influxdb1",
        TELEGRAF + "netflow/",
        lambda: _netflow(True),
        lambda: _netflow(False),
        (
            Wanted(LEAK, "netflow.src", "any address of the internet: a field, as the plugin has it"),
            Wanted(LEAK, "netflow.src_port", "a port per connection: a field, as the plugin has it"),
        ),
        (Wanted("TAG002", "netflow.dst", "nearly 240 servers"),),
    ),
    Layout(
        "influxdb3-trades",
        "influxdb3",
        "https://developers.binance.com/docs/binance-spot-api-docs/web-socket-streams",
        lambda: _trades(True),
        lambda: _trades(False),
        (Wanted("FLD002", "trades*", "prices as text: no average and no order by size"),),
    ),
    Layout(
        "influxdb3-opcua",
        "influxdb3",
        TELEGRAF + "opcua/",
        _opcua_dirty,
        _opcua_clean,
        (
            Wanted("LAY003|LAY004|LAY005|NAM005|SRV003", "opcua*", "a column for each node, each row has one of them"),
            Wanted("TAG003", "opcua.id", "namespace, hall, line and quantity in one tag: groups with default_tags"),
        ),
    ),
    Layout(
        "influxdb3-table-per-vin",
        "influxdb3",
        "https://docs.influxdata.com/influxdb3/core/write-data/best-practices/schema-design/",
        _cars_dirty,
        _cars_clean,
        (Wanted("NAM002", "*", "a table for each of 60 cars: one, with the VIN as a tag"),),
    ),
)
