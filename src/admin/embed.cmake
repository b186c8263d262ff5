# Writes OUT: a C++ file with the text of the dashboard's files as string constants.
#   cmake -DOUT=assets.cpp -DFOLDER=... -P embed.cmake
set(code "#include \"admin/assets.hpp\"\n\nnamespace penstock::admin {\nnamespace {\n\n")
foreach(name dashboard.html dashboard.css dashboard.js)
  file(READ ${FOLDER}/${name} text)
  string(REPLACE "." "_" id ${name})
  string(APPEND code "constexpr char ${id}[] = R\"embedded(${text})embedded\";\n\n")
endforeach()
string(APPEND code [=[
constexpr asset assets[] = {
    {"/", "text/html; charset=utf-8", {dashboard_html, sizeof dashboard_html - 1}},
    {"/dashboard.css", "text/css; charset=utf-8", {dashboard_css, sizeof dashboard_css - 1}},
    {"/dashboard.js", "text/javascript; charset=utf-8", {dashboard_js, sizeof dashboard_js - 1}},
};

}  // namespace

const asset* find_asset(std::string_view path) noexcept {
  for (const asset& a : assets) {
    if (a.path == path) return &a;
  }
  return nullptr;
}

}  // namespace penstock::admin
]=])
file(WRITE ${OUT} "${code}")
