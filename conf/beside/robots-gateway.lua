-- robots-gateway beside HAProxy 2.5 or later: asks about a request, and answers a refused one.
--
-- A gateway that is down, does not answer in time or says nothing of use refuses nobody.

local ask = "http://127.0.0.1:9310/forward"
-- The line in secret_file, where the gateway asks for one.
local secret = nil
-- Milliseconds.
local patience = 500

-- What a refusal can be answered with; anything else lets the request pass.
local refusals = { [402] = true, [403] = true, [404] = true, [410] = true, [429] = true, [451] = true }
-- Fields of the refusal that HAProxy writes itself.
local own = { ["connection"] = true, ["content-length"] = true, ["date"] = true }

local function field(value)
  return { value or "" }
end

core.register_action("robots-gateway", { "http-req" }, function(txn)
  local headers = {
    ["x-forwarded-method"] = field(txn.sf:method()),
    ["x-forwarded-uri"] = field(txn.sf:pathq()),
    ["x-forwarded-host"] = field(txn.sf:req_hdr("host")),
    ["x-forwarded-proto"] = field(txn.sf:ssl_fc() == "1" and "https" or "http"),
    ["x-forwarded-for"] = field(txn.sf:src()),
  }
  -- Where the client sends none, HAProxy would send its own name.
  headers["user-agent"] = field(txn.sf:req_hdr("user-agent"))
  headers["accept"] = field(txn.sf:req_hdr("accept"))
  if secret then
    headers["x-authorize-secret"] = field(secret)
  end
  local answered, answer = pcall(function()
    return core.httpclient():get({ url = ask, headers = headers, timeout = patience })
  end)
  if not answered or not answer or not refusals[answer.status] then
    return
  end
  local reply = txn:reply({ status = answer.status, body = answer.body })
  for name, values in pairs(answer.headers) do
    if not own[name] then
      for _, value in pairs(values) do
        reply:add_header(name, value)
      end
    end
  end
  txn:done(reply)
end, 0)
