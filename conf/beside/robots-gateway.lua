-- robots-gateway beside HAProxy 2.5 or later: asks about a request, answers a refused one, and has a
-- copy of robots.txt for the time when the gateway is down.
--
-- If the gateway is down, or gives no usable answer in time, requests pass. HAProxy's own client for HTTP
-- (core.httpclient) is not used: it always tries four times, with a second in between.

local gateway = "127.0.0.1:9310"
-- The line in secret_file, where the gateway asks for one.
local secret = nil
-- Seconds.
local patience = 0.5
-- Where the gateway keeps a copy of each file that it serves as /robots.txt, by host; `default` is that of the site without
-- `hosts`. HAProxy in a `chroot` cannot read there once it has started: then it has the copies of these hosts as they were at
-- its start, and needs a reload when they have changed.
local folder = "/var/lib/robots-gateway/robots"
local hosts = { "COPY_NAME" }

-- What a refusal can be answered with; anything else lets the request pass.
local refusals = { [402] = true, [403] = true, [404] = true, [410] = true, [429] = true, [451] = true }
-- Fields of an answer that HAProxy writes itself.
local own = { ["connection"] = true, ["content-length"] = true, ["date"] = true }
-- What the gateway reads of the client's own fields.
local read = { "user-agent", "accept", "signature-input", "signature", "signature-agent" }

-- Every line of a field. Counted from 0, as HAProxy counts them.
local function lines_of(headers, name)
  local found, values = {}, headers[name] or {}
  local at = 0
  while values[at] do
    found[#found + 1] = values[at]
    at = at + 1
  end
  return found
end

-- Asks the gateway at a path: `told` is what HAProxy says, `headers` are the client's. Gives the status, the fields and the
-- body that it answers, or nothing.
local function ask(path, told, headers)
  local lines = { "GET " .. path .. " HTTP/1.0" }
  local function add(name, value)
    lines[#lines + 1] = name .. ": " .. value:gsub("[\r\n]", " ")
  end
  for name, value in pairs(told) do
    add(name, value)
  end
  for _, name in ipairs(read) do
    for _, value in ipairs(lines_of(headers, name)) do
      add(name, value)
    end
  end
  local socket = core.tcp()
  socket:settimeout(patience)
  local answer
  if socket:connect(gateway) and socket:send(table.concat(lines, "\r\n") .. "\r\n\r\n") then
    answer = socket:receive("*a")
  end
  socket:close()
  local status, head, body = (answer or ""):match("^HTTP/1%.1 (%d%d%d)[^\r\n]*(.-\r\n)\r\n(.*)$")
  return tonumber(status), head, body
end

core.register_action("robots-gateway", { "http-req" }, function(txn)
  local headers = txn.http:req_get_headers()
  local told = {
    ["Host"] = gateway,
    ["X-Forwarded-Method"] = txn.sf:method(),
    ["X-Forwarded-Uri"] = txn.sf:pathq(),
    ["X-Forwarded-Host"] = lines_of(headers, "host")[1] or "",
    ["X-Forwarded-Proto"] = txn.sf:ssl_fc() == "1" and "https" or "http",
    ["X-Forwarded-For"] = txn.sf:src(),
    ["X-Authorize-Secret"] = secret,
  }
  local asked, status, head, body = pcall(ask, "/forward", told, headers)
  if not asked or not refusals[status] then
    return
  end
  local reply = txn:reply({ status = status, body = body })
  for name, value in head:gmatch("\r\n([^:\r\n]+): ?([^\r\n]*)") do
    if not own[name:lower()] then
      reply:add_header(name, value)
    end
  end
  txn:done(reply)
end, 0)

-- Whether the gateway answers now: HAProxy's own probe may not have found out yet.
core.register_action("robots-gateway-answers", { "http-req" }, function(txn)
  local asked, status = pcall(ask, "/healthz", { ["Host"] = gateway }, {})
  txn:set_var("txn.robots_gateway_answers", asked and status == 200)
end, 0)

local function copy_of(host)
  -- A name, and no path.
  local file = host:match("^[%w._:*%[%]%-]+$") and io.open(folder .. "/" .. host .. ".txt", "rb")
  local text = file and file:read("*a")
  if file then
    file:close()
  end
  return text
end

local at_start = {}
for _, host in ipairs(hosts) do
  at_start[host] = copy_of(host)
end

core.register_service("robots-copy", "http", function(applet)
  local host = (lines_of(applet.headers, "host")[1] or ""):lower():gsub(":%d*$", ""):gsub("%.$", "")
  -- The host itself, then the wildcards that it falls under, then the site that takes every host.
  local name, copy = host, nil
  repeat
    copy = copy_of(name) or at_start[name]
    host = host:match("^[^.]*%.(.+)$")
    name = host and "*." .. host
  until copy or not name
  copy = copy or copy_of("default") or at_start["default"]
  -- Without a copy the answer is 503: come again. A 404 would mean that everything is allowed.
  applet:set_status(copy and 200 or 503)
  applet:add_header("Content-Type", "text/plain; charset=utf-8")
  applet:add_header("Content-Length", tostring(copy and #copy or 0))
  applet:start_response()
  if copy and applet.method ~= "HEAD" then
    applet:send(copy)
  end
end)
