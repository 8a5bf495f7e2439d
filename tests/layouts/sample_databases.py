"""Northwind and Chinook: what people try a tool on first. Old orders, few rows, nothing to act on."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.layouts.layout import Layout, Script
from tests.layouts.making import ANALYZE, Tables, stamp, word

_NORTHWIND = (
    """CREATE TABLE categories (category_id smallint PRIMARY KEY, category_name varchar(15) NOT NULL,
        description text, picture bytea)""",
    """CREATE TABLE customers (customer_id varchar(5) PRIMARY KEY, company_name varchar(40) NOT NULL,
        contact_name varchar(30), contact_title varchar(30), address varchar(60), city varchar(15), region varchar(15),
        postal_code varchar(10), country varchar(15), phone varchar(24), fax varchar(24))""",
    """CREATE TABLE employees (employee_id smallint PRIMARY KEY, last_name varchar(20) NOT NULL,
        first_name varchar(10) NOT NULL, title varchar(30), title_of_courtesy varchar(25), birth_date date,
        hire_date date, address varchar(60), city varchar(15), region varchar(15), postal_code varchar(10),
        country varchar(15), home_phone varchar(24), extension varchar(4), photo bytea, notes text,
        reports_to smallint REFERENCES employees, photo_path varchar(255))""",
    """CREATE TABLE orders (order_id smallint PRIMARY KEY, customer_id varchar(5) REFERENCES customers,
        employee_id smallint REFERENCES employees, order_date date, required_date date, shipped_date date,
        ship_via smallint, freight real, ship_name varchar(40), ship_address varchar(60), ship_city varchar(15),
        ship_region varchar(15), ship_postal_code varchar(10), ship_country varchar(15))""",
    """CREATE TABLE products (product_id smallint PRIMARY KEY, product_name varchar(40) NOT NULL, supplier_id smallint,
        category_id smallint REFERENCES categories, quantity_per_unit varchar(20), unit_price real,
        units_in_stock smallint, units_on_order smallint, reorder_level smallint, discontinued integer NOT NULL)""",
    """CREATE TABLE order_details (order_id smallint REFERENCES orders, product_id smallint REFERENCES products,
        unit_price real NOT NULL, quantity smallint NOT NULL, discount real NOT NULL, PRIMARY KEY (order_id,
        product_id))""",
    "CREATE TABLE shippers (shipper_id smallint PRIMARY KEY, company_name varchar(40) NOT NULL, phone varchar(24))",
    """CREATE TABLE us_states (state_id smallint PRIMARY KEY, state_name varchar(100), state_abbr varchar(2),
        state_region varchar(50))""",
)
_PLACES: tuple[tuple[str | None, ...], ...] = (
    ("Berlin", None, "12209", "Germany"),
    ("Eugene", "OR", "97403", "USA"),
    ("Lyon", None, "69004", "France"),
)
_PLACES += (("Rio de Janeiro", "RJ", "02389-673", "Brazil"), ("Cork", "Co. Cork", None, "Ireland"))
_UNITS: tuple[str, ...] = (
    "10 boxes x 20 bags",
    "24 - 12 oz bottles",
    "12 - 550 ml bottles",
    "48 - 6 oz jars",
    "36 boxes",
    "18 - 500 g pkgs.",
)
_UNITS += (
    "12 - 1 lb pkgs.",
    "500 ml",
    "1 kg pkg.",
    "40 - 100 g pkgs.",
    "24 - 250 g pkgs.",
    "16 kg pkg.",
    "20 - 2 kg boxes",
)


def _northwind() -> Script:
    noise = random.Random(1)

    def at_home(i: int) -> tuple[str | None, ...]:
        city, region, code, country = _PLACES[i % 5]
        return (f"{word(i).title()}str. {i % 90 + 1}", city, region, code, country)

    customers = []
    for i in range(91):
        ident = "".join(noise.choice("ABCDEFGHIKLMNOPRSTUVW") for _ in range(5))
        company = f"{word(i).title()} {word(i * 7).title()}"
        phone = f"030-00{noise.randrange(10**5):05}"
        customers.append(
            (
                ident,
                company,
                f"{word(i * 3).title()} {word(i * 5).title()}",
                "Owner",
                *at_home(i),
                phone,
                phone if i % 3 else None,
            )
        )
    born, hired = datetime(1950, 1, 1, tzinfo=UTC).date(), datetime(1992, 4, 1, tzinfo=UTC).date()
    employees = [
        (i, word(i).title(), word(i * 9).title()[:10], "Sales Representative", "Ms.", born + timedelta(days=900 * i),
         hired + timedelta(days=90 * i), *at_home(i), "(206) 555-9857", f"{5400 + i}", None,
         "Education includes a BA in psychology from Colorado State University. She also completed a course.",
         2 if i != 2 else None, f"http://accweb/emmployees/{word(i)}.bmp")
        for i in range(1, 10)
    ]  # fmt: skip
    orders, details = [], []
    for number in range(10_248, 11_078):
        day = datetime(1996, 7, 4, tzinfo=UTC).date() + timedelta(days=(number - 10_248) * 0.8)
        who = noise.randrange(91)
        shipped = day + timedelta(days=noise.randrange(2, 20)) if noise.random() > 0.03 else None
        name = customers[who][1]
        about = (
            customers[who][0],
            noise.randrange(1, 10),
            day,
            day + timedelta(days=28),
            shipped,
            noise.randrange(1, 4),
        )
        orders.append((number, *about, round(noise.uniform(1, 300), 2), name, *at_home(who)))
        for product in noise.sample(range(1, 78), noise.randrange(1, 5)):
            price = round(noise.uniform(3, 80), 1)
            details.append((number, product, price, noise.randrange(1, 100), noise.choice((0, 0.05, 0.1))))
    categories = [(i, word(i).title(), f"{word(i)}s, {word(i + 4)}s, and {word(i + 9)}s", None) for i in range(1, 9)]
    products = [
        (
            i,
            word(i * 11).title(),
            i % 29 + 1,
            i % 8 + 1,
            _UNITS[i % len(_UNITS)],
            round(noise.uniform(3, 200), 2),
            i,
            0,
            10,
            int(i % 9 == 0),
        )
        for i in range(1, 78)
    ]
    rows: Tables = {
        "categories": categories,
        "customers": customers,
        "employees": sorted(employees, key=lambda e: e[0] != 2),
    }
    rows |= {"orders": orders, "products": products, "order_details": details}
    rows |= {"shippers": [(i, word(i).title(), "(503) 555-9831") for i in range(1, 7)]}
    rows |= {"us_states": [(i, word(i).title(), word(i)[:2].upper(), "south") for i in range(1, 52)]}
    return Script(_NORTHWIND, rows, (ANALYZE,))


_CHINOOK = (
    "CREATE TABLE [Artist] ([ArtistId] INTEGER NOT NULL PRIMARY KEY, [Name] NVARCHAR(120))",
    """CREATE TABLE [Album] ([AlbumId] INTEGER NOT NULL PRIMARY KEY, [Title] NVARCHAR(160) NOT NULL,
        [ArtistId] INTEGER NOT NULL REFERENCES [Artist] ([ArtistId]))""",
    """CREATE TABLE [Track] ([TrackId] INTEGER NOT NULL PRIMARY KEY, [Name] NVARCHAR(200) NOT NULL, [AlbumId] INTEGER,
        [MediaTypeId] INTEGER NOT NULL, [GenreId] INTEGER, [Composer] NVARCHAR(220), [Milliseconds] INTEGER NOT NULL,
        [Bytes] INTEGER, [UnitPrice] NUMERIC(10,2) NOT NULL)""",
    "CREATE INDEX [IFK_TrackAlbumId] ON [Track] ([AlbumId])",
    "CREATE INDEX [IFK_TrackGenreId] ON [Track] ([GenreId])",
    """CREATE TABLE [Customer] ([CustomerId] INTEGER NOT NULL PRIMARY KEY, [FirstName] NVARCHAR(40) NOT NULL,
        [LastName] NVARCHAR(20) NOT NULL, [Company] NVARCHAR(80), [Address] NVARCHAR(70), [City] NVARCHAR(40),
        [State] NVARCHAR(40), [Country] NVARCHAR(40), [PostalCode] NVARCHAR(10), [Phone] NVARCHAR(24),
        [Fax] NVARCHAR(24), [Email] NVARCHAR(60) NOT NULL, [SupportRepId] INTEGER)""",
    """CREATE TABLE [Invoice] ([InvoiceId] INTEGER NOT NULL PRIMARY KEY, [CustomerId] INTEGER NOT NULL,
        [InvoiceDate] DATETIME NOT NULL, [BillingAddress] NVARCHAR(70), [BillingCity] NVARCHAR(40),
        [BillingState] NVARCHAR(40), [BillingCountry] NVARCHAR(40), [BillingPostalCode] NVARCHAR(10),
        [Total] NUMERIC(10,2) NOT NULL)""",
    "CREATE INDEX [IFK_InvoiceCustomerId] ON [Invoice] ([CustomerId])",
    """CREATE TABLE [InvoiceLine] ([InvoiceLineId] INTEGER NOT NULL PRIMARY KEY, [InvoiceId] INTEGER NOT NULL,
        [TrackId] INTEGER NOT NULL, [UnitPrice] NUMERIC(10,2) NOT NULL, [Quantity] INTEGER NOT NULL)""",
    "CREATE INDEX [IFK_InvoiceLineInvoiceId] ON [InvoiceLine] ([InvoiceId])",
    "CREATE TABLE [Genre] ([GenreId] INTEGER NOT NULL PRIMARY KEY, [Name] NVARCHAR(120))",
    """CREATE TABLE [PlaylistTrack] ([PlaylistId] INTEGER NOT NULL, [TrackId] INTEGER NOT NULL,
        CONSTRAINT [PK_PlaylistTrack] PRIMARY KEY ([PlaylistId], [TrackId]))""",
)


def _chinook() -> Script:
    noise = random.Random(4)
    artists = [(i, f"{word(i)} {word(i * 2)}".title()) for i in range(1, 276)]
    albums = [(i, f"{word(i * 3)} of {word(i * 5)}".title(), noise.randrange(1, 276)) for i in range(1, 348)]
    tracks = [
        (i, f"{word(i * 7)} {word(i * 13)}".title(), noise.randrange(1, 348), noise.randrange(1, 6),
         noise.randrange(1, 26),
         f"{word(i % 90).title()}, {word(i % 70).title()}/{word(i % 50).title()}" if i % 3 else None,
         noise.randrange(60_000, 600_000), noise.randrange(10**6, 10**7), 0.99)
        for i in range(1, 3_504)
    ]  # fmt: skip
    customers = []
    for i in range(1, 60):
        city, region, code, country = _PLACES[i % 5]
        first, last = word(i * 3).title(), word(i * 11).title()
        home = (f"{i}, {word(i).title()} Street", city, region, country, code)
        customers.append(
            (i, first, last, None, *home, "+55 (12) 3923-5555", None, f"{first}@example.com".lower(), 3 + i % 3)
        )
    invoices = []
    lines: list[tuple[Any, ...]] = []
    for i in range(1, 413):
        at = datetime(2009, 1, 1, tzinfo=UTC) + timedelta(days=4.4 * i)
        who = customers[i % 59]
        bought = noise.randrange(1, 10)
        invoices.append((i, who[0], stamp(at), who[4], who[5], who[6], who[7], who[8], round(0.99 * bought, 2)))
        lines += [(len(lines) + 1 + n, i, noise.randrange(1, 3_504), 0.99, 1) for n in range(bought)]
    genres = [(i, word(i).title()) for i in range(1, 26)]
    lists = [(p, t) for p in range(1, 9) for t in range(p, 3_504, p)]
    rows: Tables = {"Artist": artists, "Album": albums, "Track": tracks, "Customer": customers, "Invoice": invoices}
    return Script(_CHINOOK, rows | {"InvoiceLine": lines, "Genre": genres, "PlaylistTrack": lists})


LAYOUTS = (
    Layout(
        name="northwind-postgresql",
        engine="postgresql",
        source="https://github.com/pthom/northwind_psql/blob/master/northwind.sql",
        clean=_northwind,
    ),
    Layout(
        name="chinook-sqlite",
        engine="sqlite",
        source="https://github.com/lerocha/chinook-database",
        clean=_chinook,
    ),
)
