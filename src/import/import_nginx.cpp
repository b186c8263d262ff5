#include "import/import_nginx.hpp"

#include <algorithm>

#include "config/document.hpp"
#include "import/draft.hpp"

namespace penstock::import {

result<imported_policy> import_nginx(const std::string& path, const nginx_files& files,
                                     const import_options& options) {
  const auto tree = read_nginx(path, options.prefix, files);
  if (!tree) return tree.error();
  const auto model = read_model(*tree);
  if (!model) return model.error();

  const bool trusting = std::any_of(model->servers.begin(), model->servers.end(),
                                    [](const server& s) { return !s.rules.trusted.empty(); });
  std::vector<imported_key> keys;
  for (const auto& z : model->zones) keys.push_back(import_key(*model, z.key, trusting));

  policy_draft draft;
  draft.face_for = options.face_for;
  draft.left_out = model->remarks;
  if (auto ok = draft_limits(*model, keys, draft); !ok) return ok.error();
  draft_client(*model, draft);
  draft_upstream(*model, draft);
  if (draft.face_for == face::decision)
    std::erase_if(draft.left_out, [](const remark& r) { return r.gateway_only; });

  const auto slash = path.rfind('/');
  auto policy = write_policy(shown(path.substr(slash + 1)), draft);
  if (policy.text.size() > config::largest_document) {
    return error{errc::invalid_config, shown(path) +
                                           ": the policy would be larger than 4 MiB: "
                                           "import the sites one by one"};
  }
  return policy;
}

}  // namespace penstock::import
