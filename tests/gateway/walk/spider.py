"""A spider of Scrapy with AutoThrottle, whose retries come as slowly as a 429 says.

Scrapy's own retries of a 429 do not wait, and AutoThrottle looks at how long answers take: together they do not slow down.
"""

import os

import scrapy
from scrapy.downloadermiddlewares.retry import RetryMiddleware


class SlowDown(RetryMiddleware):
    @classmethod
    def from_crawler(cls, crawler):
        middleware = super().from_crawler(crawler)
        middleware.downloader = lambda: crawler.engine.downloader
        return middleware

    def process_response(self, request, response, spider=None):
        if response.status == 429:
            slot = self.downloader().slots[request.meta["download_slot"]]
            slot.delay = max(slot.delay, float(response.headers.get("Retry-After", b"1")))
        return super().process_response(request, response)


class PoliteSpider(scrapy.Spider):
    name = "polite"
    start_urls = [os.environ["START"]]
    custom_settings = {
        "AUTOTHROTTLE_ENABLED": True,
        "AUTOTHROTTLE_START_DELAY": 0.1,
        "DOWNLOADER_MIDDLEWARES": {
            "scrapy.downloadermiddlewares.retry.RetryMiddleware": None,
            SlowDown: 550,
        },
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
    }

    def parse(self, response):
        yield from response.follow_all(css="a")
