//! The examples at the foot of each verb's help. A test runs those that need no gateway.

pub(super) const ALL: &str = "\
Examples:
  gatewayctl replay /var/log/nginx/access.log --block ai-train
  gatewayctl lint robots.txt
  gatewayctl check --config gateway.toml
  gatewayctl explain --robots robots.txt --user-agent GPTBot/1.2 --target /a
  gatewayctl reload
  gatewayctl report --since 7d
  gatewayctl status --format json

Exit codes: 0 fine; 1 findings, disallowed or refused; 2 could not answer.";

pub(super) const BACKUP: &str = "\
Examples:
  gatewayctl backup /var/backups/robots-gateway.sqlite
  gatewayctl backup --state-dir state store-copy.sqlite

The copy is of one moment, and is whole. `cp` of the store's files is neither while a gateway writes them. The ledger is not \
copied: put back, it would not know what was served since.";

pub(super) const CHECK: &str = "\
Examples:
  gatewayctl check --config gateway.toml
  gatewayctl check --config gateway.toml --offline --deny warnings";

pub(super) const CRAWLERS: &str = "\
Examples:
  gatewayctl crawlers
  gatewayctl crawlers --purpose ai-train
  gatewayctl crawlers 'GPTBot/1.2 (+https://openai.com/gptbot)'
  gatewayctl crawlers refresh";

pub(super) const EXPLAIN: &str = "\
Examples:
  gatewayctl explain --robots robots.txt --user-agent GPTBot/1.2 --target /a
  gatewayctl explain --robots robots.txt --token GPTBot --target '/private?x=1'
  gatewayctl explain --robots robots.txt --batch questions.jsonl

Exit codes: 0 allowed; 1 disallowed; 2 could not answer. With --batch: 2 if a line could not be read, else 0.";

pub(super) const LINT: &str = "\
Examples:
  gatewayctl lint robots.txt
  gatewayctl lint --deny warnings robots.txt shop-robots.txt
  curl -s https://example.org/robots.txt | gatewayctl lint -";

pub(super) const ROBOTS: &str = "\
Examples:
  gatewayctl robots
  gatewayctl robots --site example.org --format json
  gatewayctl robots refresh

A line that was generated and shuts nobody out, because another rule of the same crawler is stronger, is marked `void`. \
Without a running gateway it is the file as the configuration makes it. Exit codes of \
refresh: 0 every origin has answered; 1 one is silent, or what it has is not taken; 2 could not answer.";

pub(super) const RELOAD: &str = "\
Examples:
  gatewayctl reload
  gatewayctl reload --accept-empty";

pub(super) const STATUS: &str = "\
Examples:
  gatewayctl status
  gatewayctl status --format json

Exit codes: 0 the gateway answered, whatever it says; 2 it did not.";

pub(super) const MODE: &str = "\
Examples:
  gatewayctl mode
  gatewayctl mode off --all
  gatewayctl mode --crawler GPTBot enforce
  gatewayctl mode --purpose ai-train enforce
  gatewayctl mode --site example.org audit
  gatewayctl mode --persist enforce
  gatewayctl mode --crawler GPTBot --clear
  gatewayctl mode --clear --all
  gatewayctl mode --fleet enforce

Without --persist a mode lasts until the gateway is started again. A reload does not end it. `gatewayctl status` shows \
all that are in force; they win over the configuration. Among all of them the most specific wins: crawler, purpose, kind \
of client, site, all; so `mode off` leaves a site or crawler that has a stronger mode of its own, and warns of it. \
`mode off --all` beats them all, at once. `mode --clear` ends it, and `mode --clear --all` all that was set by hand.";

pub(super) const FLEET: &str = "\
Examples:
  gatewayctl fleet init --database postgresql://postgres@db.example/robots
  gatewayctl fleet
  gatewayctl fleet --format json
  gatewayctl fleet publish robots.txt
  gatewayctl fleet publish --site a.example a.txt --site b.example b.txt
  gatewayctl fleet forget gateway-7
  gatewayctl report --fleet

Without a verb it shows the members, and ends with 1 while one is late.";

pub(super) const INIT: &str = "\
Examples:
  gatewayctl init --origin http://127.0.0.1:3000 --host example.org site
  gatewayctl init --beside nginx --robots robots.txt --host example.org site
  gatewayctl init --robots robots.txt --block ai-train .";

pub(super) const COMPLETIONS: &str = "\
Examples:
  gatewayctl completions bash > /etc/bash_completion.d/gatewayctl
  gatewayctl completions zsh > \"${fpath[1]}/_gatewayctl\"
  gatewayctl completions fish > ~/.config/fish/completions/gatewayctl.fish";

pub(super) const MAN: &str = "\
Examples:
  gatewayctl man | man -l -
  gatewayctl man --out /usr/local/share/man/man1";

pub(super) const REPORT: &str = "\
Examples:
  gatewayctl report --since 7d
  gatewayctl report --since 2026-11-01 --until 2026-11-08 --format csv
  gatewayctl report --purpose ai-train
  gatewayctl report --crawler GPTBot --evidence
  gatewayctl report --told --format html > told.html";

pub(super) const REPLAY: &str = "\
Examples:
  gatewayctl replay access.log --block ai-train
  gatewayctl replay access.log --robots robots.txt
  gatewayctl replay --config gateway.toml access.log access.log.2.gz
  zcat access.log.*.gz | gatewayctl replay - --robots robots.txt --format json
  gatewayctl replay --follow access.log --robots robots.txt --events -

It reads combined and common logs (nginx, Apache), with or without a host in front, and JSON lines of nginx and Caddy, \
plain or compressed with gzip or zstd. The report says what would have been refused in enforce mode. A log that \
cannot be read to its end is told of, with exit code 2, after the report of the rest. --events overwrites nothing.";

pub(super) const DIFF: &str = "\
Examples:
  gatewayctl diff new-robots.txt --robots robots.txt
  gatewayctl diff new-robots.txt --robots robots.txt --log access.log
  gatewayctl diff new-robots.txt --config gateway.toml --since 7d

Exit codes: 0 no search engine loses a page it fetched; 1 one would; 2 could not answer, or no request could be judged.";
