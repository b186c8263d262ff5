-- Asks Penstock about a request: `http-request lua.penstock URL`. Needs HAProxy 2.6 or later.
--
-- Sets txn.penstock_verdict to "allow", "deny", "unavailable" (Penstock says that nobody can
-- decide) or "unreachable" (it did not say anything), txn.penstock_status to what the client is to
-- get, and txn.penstock_* to the fields to send along. The configuration decides what they mean.

-- Fields that are not asked about: they belong to one connection, or only HAProxy may say them.
local left_out = {
  ["connection"] = true, ["keep-alive"] = true, ["te"] = true, ["trailer"] = true,
  ["transfer-encoding"] = true, ["upgrade"] = true, ["expect"] = true, ["content-length"] = true,
  ["host"] = true, ["forwarded"] = true, ["x-real-ip"] = true,
  -- Limits by user: the configuration says which user, in txn.penstock_user.
  ["x-user-id"] = true,
}

local answers = {
  ["retry-after"] = "txn.penstock_retry_after",
  ["ratelimit"] = "txn.penstock_ratelimit",
  ["ratelimit-policy"] = "txn.penstock_policy",
  ["x-ratelimit-limit"] = "txn.penstock_limit",
  ["x-ratelimit-remaining"] = "txn.penstock_remaining",
  ["x-ratelimit-reset"] = "txn.penstock_reset",
}

local function question(txn)
  local fields = {}
  for name, values in pairs(txn.http:req_get_headers()) do
    if not left_out[name] and not name:find("^x%-forwarded%-") and not name:find("^x%-original%-") then
      local list = {}
      for i = 0, #values do list[#list + 1] = values[i] end
      fields[name] = list
    end
  end
  fields["host"] = { "penstock" }
  fields["x-original-method"] = { txn.f:method() }
  fields["x-original-uri"] = { txn.f:pathq() }
  fields["x-original-host"] = { txn.f:req_hdr("host") }
  fields["x-forwarded-for"] = { txn.f:src() }
  local user = txn:get_var("txn.penstock_user")
  if user then fields["x-user-id"] = { user } end
  local token = txn:get_var("txn.penstock_token")
  if token then fields["x-penstock-token"] = { token } end
  return fields
end

core.register_action("penstock", { "http-req" }, function(txn, url)
  local done, answer = pcall(function()
    return core.httpclient():get{
      url = url .. "?original=x-original", headers = question(txn), timeout = 10000 }
  end)
  local verdict = done and answer and answer.headers and answer.headers["x-ratelimit-verdict"]
  if not verdict then
    txn:set_var("txn.penstock_verdict", "unreachable")
    return
  end
  txn:set_var("txn.penstock_verdict", verdict[0])
  txn:set_var("txn.penstock_status", answer.headers["x-ratelimit-status"][0])
  for name, variable in pairs(answers) do
    if answer.headers[name] then txn:set_var(variable, answer.headers[name][0]) end
  end
end, 1)
