//! Files to measure with, made from a seed: the same bytes on every machine.

use std::fmt::Write;

/// A robots.txt file, the crawler that asks, and the targets it asks for in turn.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) robots: Vec<u8>,
    pub(crate) agent: &'static str,
    pub(crate) targets: Vec<String>,
}

/// xorshift64*: enough to spread words over paths.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 33) as usize) % bound
    }

    fn letter(&mut self) -> char {
        (b'a'..=b'z').nth(self.below(26)).map_or('a', char::from)
    }

    fn pick<'a>(&mut self, words: &'a [String]) -> &'a str {
        &words[self.below(words.len())]
    }
}

fn words(random: &mut Random, count: usize) -> Vec<String> {
    let word = |random: &mut Random| {
        let letters = 4 + random.below(6);
        (0..letters).map(|_| random.letter()).collect()
    };
    (0..count).map(|_| word(random)).collect()
}

fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// Two groups, ten rules: what most sites have.
pub(crate) fn small() -> Sample {
    let robots = "User-agent: *\nDisallow: /account/\nDisallow: /basket\nDisallow: /find?\nAllow: /find?topic=help\n\
        Disallow: /*.zip$\nDisallow: /scratch/\n\nUser-agent: GPTBot\nDisallow: /\nAllow: /journal/\n\
        Allow: /manual/*.html$\nDisallow: /journal/unpublished/\n\nSitemap: https://example.com/sitemap.xml\n";
    let targets = [
        "/",
        "/journal/",
        "/journal/2025/10/what-we-learned",
        "/journal/unpublished/x",
        "/manual/a/b/c.html",
        "/manual/a/b/c.html?x=1",
        "/goods/12345/a-rather-long-name-of-a-thing?ref=abc&campaign=x",
        "/account/",
        "/find?topic=help",
        "/pictures/logo.png",
    ];
    Sample { name: "small", robots: robots.into(), agent: "GPTBot", targets: strings(&targets) }
}

/// An encyclopaedia: many one-crawler groups, then 450 rules of which many come twice, with `:` and
/// with `%3A`, or as text beyond ASCII.
pub(crate) fn large() -> Sample {
    let mut random = Random::new(450);
    let words = words(&mut random, 160);
    let mut robots = String::from("# A real-style file\n");
    for word in words.iter().take(32) {
        let _ = write!(robots, "User-agent: Crawler-{word}\nDisallow: /\n\n");
    }
    robots += "User-agent: *\nAllow: /w/api.php?action=view&\nAllow: /api/rest/?doc\nDisallow: /w/\nDisallow: /api/\nDisallow: /trap/\n";
    let mut targets = strings(&[
        "/",
        "/page/Main",
        "/w/index.php?title=Foo&action=edit",
        "/w/api.php?action=view&page=x",
        "/trap/x",
        "/static/images/logo.png",
    ]);
    for number in 0..209 {
        let space = ["Special", "Project", "Project_talk", "Talk", "User"][number % 5];
        let word = random.pick(&words);
        let tail = ["", "/", "/Requests", "_log", "/é"][random.below(5)];
        let _ =
            write!(robots, "Disallow: /page/{space}:{word}{tail}\nDisallow: /page/{space}%3A{word}{tail}\n");
        if number % 26 == 0 {
            targets.push(format!("/page/{space}:{word}{tail}/x"));
            targets.push(format!("/page/{space}:{}", random.pick(&words)));
        }
    }
    for (one, two) in words.iter().zip(words.iter().skip(40)).take(27) {
        let _ = writeln!(robots, "Disallow: /page/{one}_{two}/archive");
    }
    Sample { name: "large", robots: robots.into_bytes(), agent: "FooBot", targets }
}

struct Shop {
    rules: Vec<String>,
    words: Vec<String>,
    random: Random,
}

/// Rules of a shop with twelve departments; one in ten has a `*` or a `$`.
fn shop(count: usize) -> Shop {
    let mut random = Random::new(10_000);
    let words = words(&mut random, 400);
    let mut rules = Vec::with_capacity(count);
    while rules.len() < count {
        let depth = 3 + random.below(3);
        let mut parts = vec![words[random.below(12)].as_str()];
        parts.extend((0..depth).map(|_| words[random.below(words.len())].as_str()));
        let kind = random.below(100);
        if kind < 4 {
            let at = 1 + random.below(parts.len() - 1);
            parts[at] = "*";
        }
        let mut path = format!("/{}", parts.join("/"));
        match kind {
            4..7 => path = format!("/{}/*{}.html$", parts[0], parts[depth]),
            7..10 => path.push('$'),
            10..40 => path.push('/'),
            40..50 => path.extend(["?", random.pick(&words), "="]),
            _ => {}
        }
        rules.push(path);
    }
    Shop { rules, words, random }
}

fn one_group(rules: &[String]) -> Vec<u8> {
    let mut text = String::from("User-agent: *\n");
    for (number, rule) in rules.iter().enumerate() {
        text += if number % 9 == 0 { "Allow: " } else { "Disallow: " };
        text += rule;
        text.push('\n');
    }
    text.into_bytes()
}

/// One group of `count` rules, and 64 targets: hits, near misses, misses.
pub(crate) fn rules(count: usize) -> Sample {
    let Shop { rules, words, mut random } = shop(count);
    let sample = |random: &mut Random| {
        let rule = rules[random.below(rules.len())].replace('*', "xyz");
        rule.strip_suffix('$').unwrap_or(&rule).to_owned()
    };
    let mut targets = Vec::new();
    for number in 0..24 {
        targets.push(sample(&mut random) + ["", "/x", "?a=1"][number % 3]);
    }
    for _ in 0..24 {
        let mut near = sample(&mut random);
        near.truncate(near.len() - 3);
        targets.push(near + "qq0");
    }
    for number in 0..16 {
        let parts: Vec<&str> = (0..5).map(|_| words[random.below(words.len())].as_str()).collect();
        targets.push(format!("/{}?p={number}", parts.join("/")));
    }
    Sample { name: "10000 rules", robots: one_group(&rules), agent: "FooBot", targets }
}

/// 10,000 rules, and targets of 8 KiB that start like a rule with `*` and go on like its second half.
pub(crate) fn long_targets() -> Sample {
    let Shop { rules, .. } = shop(10_000);
    let mut targets = Vec::new();
    for rule in rules.iter().filter(|rule| rule.contains('*')).take(8) {
        let (head, tail) = rule.split_once('*').unwrap_or((rule, ""));
        let bait = tail.get(..4).unwrap_or("x/");
        for filler in ["x/", bait] {
            let mut target = head.to_owned() + &filler.repeat(5000);
            target.truncate(8192);
            targets.push(target);
        }
    }
    Sample { name: "10000 rules, 8 KiB targets", robots: one_group(&rules), agent: "FooBot", targets }
}

/// 500 groups of one crawler each; the one that asks has a group of its own, or none.
pub(crate) fn groups(named: bool) -> Sample {
    let mut random = Random::new(500);
    let words = words(&mut random, 500);
    let mut robots = String::from("User-agent: *\nDisallow: /private/\n");
    for (number, word) in words.iter().enumerate() {
        let _ = write!(
            robots,
            "\nUser-agent: {word}-{}\nDisallow: /\n",
            ["bot", "crawler", "spider"][number % 3]
        );
    }
    let targets = strings(&["/", "/news/item/2020", "/entity/x", "/images/logo.png"]);
    robots += "\nUser-agent: NamedBot\nDisallow: /news/\n";
    let (name, agent) =
        if named { ("500 groups, named crawler", "NamedBot") } else { ("500 groups", "FooBot") };
    Sample { name, robots: robots.into_bytes(), agent, targets }
}

fn hostile_target() -> Vec<String> {
    vec![format!("/{}", "a".repeat(8191))]
}

/// One rule made to backtrace, against 8 KiB of `a`.
pub(crate) fn hostile() -> Sample {
    let robots = b"User-agent: *\nDisallow: /*a*a*a*a*a*b$\n".to_vec();
    Sample { name: "hostile rule", robots, agent: "FooBot", targets: hostile_target() }
}

/// A hundred such rules, of 1 to 100 stars.
pub(crate) fn hundred_hostile() -> Sample {
    let mut robots = String::from("User-agent: *\n");
    for stars in 1..=100 {
        let _ = writeln!(robots, "Disallow: /{}*b$", "*a".repeat(stars));
    }
    Sample {
        name: "100 hostile rules",
        robots: robots.into_bytes(),
        agent: "FooBot",
        targets: hostile_target(),
    }
}

/// As many rules as fit into 500 KiB, all of which a target nearly matches: its bytes are made of the
/// same words as the first pieces, and none of the last pieces, which are all different, is in it.
pub(crate) fn nearly_matching() -> Sample {
    let mut random = Random::new(500);
    let mut word = |size: usize| {
        let mut word = String::new();
        while word.len() < size {
            word.push(['a', 'b'][random.below(2)]);
            if word.ends_with("bbbbb") {
                word.pop();
                word.push('a');
            }
        }
        word
    };
    let mut robots = String::from("User-agent: *\n");
    while robots.len() < 500 * 1024 - 100 {
        let _ = writeln!(robots, "Disallow: /*{}*{}*{}*{}bbbbb", word(7), word(7), word(7), word(14));
    }
    let targets = vec![format!("/{}", word(8191))];
    Sample { name: "nearly matching rules", robots: robots.into_bytes(), agent: "FooBot", targets }
}
