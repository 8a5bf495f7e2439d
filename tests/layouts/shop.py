"""A web shop as object-relational mappers lay it out: customers, orders, their items, and tickets of the support."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from tests.builders import NOW
from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, Tables, evenly, word


def _statements(total: str) -> tuple[str, ...]:
    return (
        """CREATE TABLE customers (id bigserial PRIMARY KEY, email varchar(255) NOT NULL UNIQUE, name varchar(255),
            street varchar(255), city varchar(100), zip varchar(10), phone varchar(30), newsletter boolean,
            password_hash varchar(128), created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL)""",
        """CREATE TABLE products (id serial PRIMARY KEY, sku varchar(20) NOT NULL UNIQUE, name varchar(255),
            description text, price numeric(10,2) NOT NULL, stock integer, created_at timestamptz NOT NULL)""",
        f"""CREATE TABLE orders (id bigserial PRIMARY KEY, order_no varchar(20) NOT NULL UNIQUE,
            customer_id bigint NOT NULL REFERENCES customers, status varchar(20) NOT NULL, total {total} NOT NULL,
            currency char(3) NOT NULL, payment_method varchar(20), tracking_code varchar(40), note text,
            created_at timestamptz NOT NULL, shipped_at timestamptz)""",
        "CREATE INDEX index_orders_on_customer_id ON orders (customer_id)",
        "CREATE INDEX index_orders_on_created_at ON orders (created_at)",
        """CREATE TABLE order_items (id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders,
            product_id integer NOT NULL REFERENCES products, quantity integer NOT NULL,
            price numeric(10,2) NOT NULL)""",
        "CREATE INDEX index_order_items_on_order_id ON order_items (order_id)",
        """CREATE TABLE tickets (id bigserial PRIMARY KEY, ticket_no varchar(12) NOT NULL UNIQUE,
            customer_id bigint REFERENCES customers, subject varchar(200), status varchar(20), priority smallint,
            opened_at timestamptz NOT NULL, closed_at timestamptz)""",
    )


def _made(days: int, as_text: bool = False, age: int = 0) -> Script:
    """`days` of business until `age` days ago, always the same ones."""
    noise = random.Random(8)
    until = NOW - timedelta(days=age)
    begin = NOW - timedelta(days=days)
    customers: list[Any] = []
    orders: list[Any] = []
    items: list[Any] = []
    tickets: list[Any] = []
    products = [
        (
            i,
            f"SKU-{i:05}",
            word(i).title(),
            f"A {word(i)} for {word(i * 3)} and {word(i * 7)}.",
            round(noise.uniform(2, 400), 2),
            i % 90,
            begin,
        )
        for i in range(1, 301)
    ]
    for n, at in enumerate(evenly(days * 150, days), 1):
        name = f"{word(n * 3).title()} {word(n * 5).title()}"
        phone = f"+49 {noise.randrange(100, 999)} {noise.randrange(10**6)}"
        email = f"{name.lower().replace(' ', '.')}{n}@example.org"
        home = (f"{word(n % 400).title()}weg {n % 80}", word(n % 120).title(), f"{noise.randrange(10**5):05}")
        secret = f"$2b$12${noise.getrandbits(180):045x}"
        customers.append((n, email, name, *home, phone, n % 3 == 0, secret, at, at))
    for n, at in enumerate(evenly(days * 300, days), 1):
        buyer = 1 + int(n / (days * 300) * (len(customers) - 1) * noise.random())
        old = at < NOW - timedelta(days=2)
        status = noise.choice(("shipped", "shipped", "returned", "cancelled")) if old else "paid"
        tracking = f"00340434{noise.randrange(10**12):012}" if status == "shipped" else None
        shipped = at + timedelta(hours=30) if status == "shipped" else None
        total = f"{noise.uniform(5, 700):.2f}"
        pay = noise.choice(("card", "paypal", "invoice"))
        orders.append((n, f"2026-{n:06}", buyer, status, total, "EUR", pay, tracking, None, at, shipped))
        for product in noise.sample(range(300), noise.randrange(1, 4)):
            items.append((len(items) + 1, n, product + 1, noise.randrange(1, 4), products[product][4]))
    for n, at in enumerate(evenly(days * 20, days), 1):
        closed = at + timedelta(hours=20) if n % 4 else None
        subject = noise.choice(("Where is my parcel?", "Return of {}", "Invoice for {} is wrong", "{} broken")).format(
            word(n)
        )
        tickets.append(
            (
                n,
                f"T-{100_000 + n}",
                1 + noise.randrange(len(customers)),
                subject,
                "closed" if closed else "open",
                n % 3,
                at,
                closed,
            )
        )
    kept: Tables = {"customers": [r for r in customers if r[9] < until], "products": products}
    kept["orders"] = [r for r in orders if r[9] < until and r[2] <= len(kept["customers"])]
    ids = {r[0] for r in kept["orders"]}
    kept["order_items"] = [r for r in items if r[1] in ids]
    kept["tickets"] = [r for r in tickets if r[6] < until and r[2] <= len(kept["customers"])]
    return Script(_statements("text" if as_text else "numeric(10,2)"), kept, (ANALYZE,))


_SOURCE = "https://guides.rubyonrails.org/active_record_basics.html"

LAYOUTS = (
    Layout(
        name="shop-postgresql",
        engine="postgresql",
        source=_SOURCE,
        clean=lambda: _made(15),
        dirty=lambda: _made(15, as_text=True),
        wanted=(Wanted("FLD002", "orders.total", "amounts as text: they sort wrong, and no sum without a cast"),),
    ),
    Layout(
        name="shop-growing-postgresql",
        engine="postgresql",
        source=_SOURCE,
        dirty=lambda: _made(15),
        yesterday=lambda: _made(15, age=1),
    ),
)
