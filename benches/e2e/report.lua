-- Prints what wrk keeps to itself, as one line; its own report has no 99.9th percentile. An argument is the number of bytes
-- that each request posts.
function init(arguments)
    local bytes = tonumber(arguments[1])
    if bytes then
        wrk.method = "POST"
        wrk.body = string.rep("b", bytes)
    end
end

function done(summary, latency)
    local errors = summary.errors
    io.write(string.format("e2e %d %d %d %d %d %d\n", summary.requests, latency:percentile(50), latency:percentile(99),
        latency:percentile(99.9), errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
