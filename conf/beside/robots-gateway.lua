-- robots-gateway beside HAProxy 2.5 or later: asks about a request, and answers a refused one.
--
-- A gateway that is down, does not answer in time or says nothing of use refuses nobody. HAProxy's own client for HTTP
-- (core.httpclient) is not used: it tries four times, with a second in between, and cannot be told not to.

local gateway = "127.0.0.1:9310"
-- The line in secret_file, where the gateway asks for one.
local secret = nil
-- Seconds.
local patience = 0.5

-- What a refusal can be answered with; anything else lets the request pass.
local refusals = { [402] = true, [403] = true, [404] = true, [410] = true, [429] = true, [451] = true }
-- Fields of the refusal that HAProxy writes itself.
local own = { ["connection"] = true, ["content-length"] = true, ["date"] = true }

local function exchange(fields)
  local lines = { "GET /forward HTTP/1.0" }
  for name, value in pairs(fields) do
    lines[#lines + 1] = name .. ": " .. (value or ""):gsub("[\r\n]", " ")
  end
  local socket = core.tcp()
  socket:settimeout(patience)
  local answer
  if socket:connect(gateway) and socket:send(table.concat(lines, "\r\n") .. "\r\n\r\n") then
    answer = socket:receive("*a")
  end
  socket:close()
  return answer
end

core.register_action("robots-gateway", { "http-req" }, function(txn)
  local asked, answer = pcall(exchange, {
    ["Host"] = gateway,
    ["X-Forwarded-Method"] = txn.sf:method(),
    ["X-Forwarded-Uri"] = txn.sf:pathq(),
    ["X-Forwarded-Host"] = txn.sf:req_hdr("host"),
    ["X-Forwarded-Proto"] = txn.sf:ssl_fc() == "1" and "https" or "http",
    ["X-Forwarded-For"] = txn.sf:src(),
    -- `req_hdr` would give what follows the last comma.
    ["User-Agent"] = txn.sf:req_fhdr("user-agent"),
    ["Accept"] = txn.sf:req_fhdr("accept"),
    -- Left out where they are missing: `sf` would make them empty.
    ["Signature-Input"] = txn.f:req_fhdr("signature-input"),
    ["Signature"] = txn.f:req_fhdr("signature"),
    ["Signature-Agent"] = txn.f:req_fhdr("signature-agent"),
    ["X-Authorize-Secret"] = secret,
  })
  if not asked or not answer then
    return
  end
  local status, head, body = answer:match("^HTTP/1%.1 (%d%d%d)[^\r\n]*(.-\r\n)\r\n(.*)$")
  if not refusals[tonumber(status)] then
    return
  end
  local reply = txn:reply({ status = tonumber(status), body = body })
  for name, value in head:gmatch("\r\n([^:\r\n]+): ?([^\r\n]*)") do
    if not own[name:lower()] then
      reply:add_header(name, value)
    end
  end
  txn:done(reply)
end, 0)
