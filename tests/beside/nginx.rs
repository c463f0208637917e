//! nginx with `auth_request`: before an application, and before PHP-FPM.

use crate::carries::{carries_bodies_and_methods, carries_grpc, carries_websockets};
use crate::judged::OddClient;
use crate::proxy::Proxy;
use crate::scene::{
    Setup, ask, block, counts_each_once, is_copy, is_whole_copy, judges_again, keeps_its_promises,
    survives_a_hung_gateway, survives_without_the_gateway,
};
use crate::site::{grpc, site};
use crate::support::Nginx;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::origin::free_port;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// nginx with what `init` wrote, and this in its http block.
fn nginx(setup: &Setup, port: u16, servers: &str) -> Proxy {
    let folder = setup.folder.path().display();
    setup.folder.write("upstream.conf", setup.file("nginx-upstream.conf"));
    setup.folder.write("server.conf", setup.file("nginx.conf"));
    let own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};\n"));
    let text = format!(
        "daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{ }}\nhttp {{\naccess_log off;\n\
         {}include {folder}/upstream.conf;\n{servers}\n}}\n",
        own.concat()
    );
    let config = setup.folder.write("nginx.conf", text);
    let mut command = Command::new("nginx");
    command.args(["-p", &folder.to_string(), "-e", "stderr", "-c"]).arg(config).stderr(Stdio::null());
    Proxy::start(&mut command, port)
}

fn server(setup: &Setup, port: u16, block: &str) -> String {
    let here = setup.folder.join("server.conf");
    block
        .replace("listen 80;", &format!("listen 127.0.0.1:{port};"))
        .replace("/etc/robots-gateway/nginx.conf", here.to_str().expect("UTF-8"))
}

#[test]
fn before_an_application() {
    let (setup, origin) = (Setup::of("nginx"), Nginx::start());
    let port = free_port();
    let block =
        block("nginx", "nginx asks the gateway", "nginx").replace("http://127.0.0.1:3000", &origin.url());
    let gateway = setup.gateway(None);
    let nginx = nginx(&setup, port, &server(&setup, port, &block));
    keeps_its_promises(nginx.port, "example.org", &gateway);
    counts_each_once(nginx.port, "example.org", &gateway, &["/private/1", "/open/1", "/private/2"]);
    survives_a_hung_gateway(nginx.port, "example.org", &gateway, is_whole_copy);
    survives_without_the_gateway(nginx.port, "example.org", &setup, gateway, None);
}

#[test]
fn no_client_gets_past_it_by_what_it_sends() {
    let (setup, origin, port) = (Setup::of("nginx"), Nginx::start(), free_port());
    let block =
        block("nginx", "nginx asks the gateway", "nginx").replace("http://127.0.0.1:3000", &origin.url());
    let _gateway = setup.gateway(None);
    let nginx = nginx(&setup, port, &server(&setup, port, &block));
    let client = OddClient::at(nginx.port, "example.org");
    client.stays_out_whatever_it_sends();
    client.stays_out_under_any_name();
    client.lets_people_through();
}

#[test]
fn it_carries_what_it_carries_without_asking() {
    let (setup, port, http2) = (Setup::of("nginx"), free_port(), free_port());
    let own = "location / {\n        client_max_body_size 64m;\n        proxy_http_version 1.1;\n        \
               proxy_set_header Upgrade $http_upgrade;\n        proxy_set_header Connection $connection_upgrade;\n";
    let calls = format!("location /private.Service {{ grpc_pass grpc://{}; }}\n", grpc());
    let block = block("nginx", "nginx asks the gateway", "nginx")
        .replace("http://127.0.0.1:3000", &format!("http://{}", site()));
    let block = block.replace("location / {\n", &format!("{calls}{own}"));
    let block = block.replace("listen 80;", &format!("listen 80; listen 127.0.0.1:{http2} http2;"));
    let map = "map $http_upgrade $connection_upgrade { default upgrade; \"\" \"\"; }\n";
    let _gateway = setup.gateway(None);
    let nginx = nginx(&setup, port, &format!("{map}{}", server(&setup, port, &block)));
    judges_again(nginx.port, "example.org");
    carries_bodies_and_methods(nginx.port, "example.org", &["--http1.1"]);
    carries_bodies_and_methods(http2, "example.org", &["--http2-prior-knowledge"]);
    carries_websockets(nginx.port, "example.org");
    carries_grpc(http2, "example.org");
}

/// What the guide shows for a page of one's own.
fn page_of_its_own() -> String {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/pace.md");
    let guide = fs::read_to_string(guide).expect("the page");
    let lines = guide.lines().skip_while(|line| !line.starts_with("    auth_request_set"));
    lines.take_while(|line| line.is_empty() || line.starts_with("    ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_crawler_that_comes_too_fast_is_told_how_long_to_wait() {
    let include = "include /etc/robots-gateway/nginx.conf;";
    for (own, page) in [(String::new(), "crawler: GPTBot\n"), (page_of_its_own(), "<title>429 Too Many")] {
        let (setup, origin, port) = (Setup::of("nginx"), Nginx::start(), free_port());
        let block =
            block("nginx", "nginx asks the gateway", "nginx").replace("http://127.0.0.1:3000", &origin.url());
        let block = block.replace(include, &format!("{own}\n{include}"));
        let tables = "[crawlers.GPTBot]\nrate = \"2/h\"\n[[sites]]\ncrawl_delay = \"enforce\"";
        let _gateway = setup.gateway(Some(&setup.file("gateway.toml").replace("[[sites]]", tables)));
        let nginx = nginx(&setup, port, &server(&setup, port, &block));
        let ask = |target| ask(nginx.port, "example.org", target, &["-A", GPTBOT]);
        ask("/robots.txt");
        assert_eq!(["/1", "/2"].map(|target| ask(target).status), [200, 200]);
        let told = ask("/3");
        let says = |text: &str| told.text.to_lowercase().contains(&text.to_lowercase());
        assert!(told.status == 429 && says("\nRetry-After: 3") && says(page), "{told:?}");
        assert_eq!(ask("/private").status, 403);
    }
}

/// PHP-FPM in the foreground.
fn php(folder: &Path, socket: &Path) -> Proxy {
    let found = fs::read_dir("/usr/sbin").into_iter().flatten().flatten().map(|entry| entry.path());
    let program = found.filter(|path| path.to_string_lossy().contains("/php-fpm")).max();
    let program = program.expect("php-fpm is needed for this test (Debian: apt-get install php-fpm)");
    let config = folder.join("fpm.conf");
    let text = format!(
        "[global]\nerror_log = {0}/fpm.log\ndaemonize = no\n[www]\nlisten = {1}\npm = static\npm.max_children = 4\n",
        folder.display(),
        socket.display()
    );
    fs::write(&config, text).expect("written");
    let mut command = Command::new(program);
    command
        .args(["--nodaemonize", "--allow-to-run-as-root", "--fpm-config"])
        .arg(&config)
        .stderr(Stdio::null());
    let process = command.stdin(Stdio::null()).stdout(Stdio::null());
    Proxy::start_at(process, socket)
}

#[test]
fn before_wordpress_on_php_fpm() {
    let setup = Setup::of("nginx");
    let (port, root, socket) = (free_port(), setup.folder.join("wordpress"), setup.folder.join("php.sock"));
    fs::create_dir_all(root.join("wp-content")).expect("a folder");
    // Like WordPress, one script for every page that is no file.
    let script = "<?php header('Content-Type: text/plain'); echo \"origin: {$_SERVER['REQUEST_METHOD']} {$_SERVER['REQUEST_URI']}\\n\";\n";
    fs::write(root.join("index.php"), script).expect("written");
    fs::write(root.join("wp-login.php"), script).expect("written");
    fs::write(root.join("wp-content/a.css"), "a {}\n").expect("written");
    let _php = php(setup.folder.path(), &socket);
    let block = block("nginx", "WordPress with PHP-FPM", "nginx")
        .replace("/var/www/wordpress", root.to_str().expect("UTF-8"))
        .replace("/run/php/php-fpm.sock", socket.to_str().expect("UTF-8"))
        .replace("fastcgi_params", "/etc/nginx/fastcgi_params");
    let config = block_config(&setup);
    let gateway = setup.gateway(Some(&config));
    let nginx = nginx(&setup, port, &server(&setup, port, &block));
    keeps_its_promises(nginx.port, "example.org", &gateway);
    let style = ask(nginx.port, "example.org", "/wp-content/a.css", &["-A", CHROME]);
    assert!(style.text.ends_with("a {}\n"), "{style:?}");
    // try_files and index send nginx to the script by a way of its own: still one request.
    let targets =
        ["/", "/a-post/", "/?p=1", "/wp-login.php", "/wp-content/a.css", "/private/1", "/absent.php"];
    counts_each_once(nginx.port, "example.org", &gateway, &targets);
    assert_eq!(ask(nginx.port, "example.org", "/.env", &["-A", CHROME]).status, 403, "the block's own rule");
    assert!(
        !ask(nginx.port, "example.org", "/.env", &["-A", GPTBOT]).text.contains("robots"),
        "and its own page"
    );
    survives_a_hung_gateway(nginx.port, "example.org", &gateway, is_copy);
    survives_without_the_gateway(nginx.port, "example.org", &setup, gateway, Some(&config));
}

/// The configuration that the page shows there.
fn block_config(setup: &Setup) -> String {
    setup.at_its_port(&block("nginx", "WordPress with PHP-FPM", "toml"))
}
