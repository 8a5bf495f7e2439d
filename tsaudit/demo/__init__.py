"""An invented company's database that grows day by day, so that audits have a history."""

from tsaudit.demo.world import DAYS as DAYS
from tsaudit.demo.world import DemoError as DemoError
from tsaudit.demo.world import World as World
