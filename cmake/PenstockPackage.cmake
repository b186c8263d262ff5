# The Debian package `penstock`: `cpack -G DEB` in a build folder that has built the binary (scripts/package).
# What only the package has is in the component `debian`, which a plain `cmake --install` leaves out, as
# its places (/etc, systemd's units) are not under a prefix.
set(debian ${PROJECT_BINARY_DIR}/debian)
find_program(PENSTOCK_GZIP gzip REQUIRED)

# Reproducible: no time and no name inside.
function(penstock_gzip source target)
  execute_process(COMMAND ${PENSTOCK_GZIP} -9nc ${source} OUTPUT_FILE ${target} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()
file(MAKE_DIRECTORY ${debian})
penstock_gzip(${PROJECT_SOURCE_DIR}/docs/penstock.1 ${debian}/penstock.1.gz)
penstock_gzip(${PROJECT_SOURCE_DIR}/deploy/debian/changelog ${debian}/changelog.gz)
penstock_gzip(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${debian}/CHANGELOG.md.gz)

function(penstock_debian)
  install(${ARGN} COMPONENT debian EXCLUDE_FROM_ALL)
endfunction()
penstock_debian(FILES deploy/systemd/penstock.service DESTINATION /lib/systemd/system)
penstock_debian(FILES deploy/debian/policy.yaml DESTINATION /etc/penstock)
penstock_debian(FILES deploy/debian/default DESTINATION /etc/default RENAME penstock
                PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
penstock_debian(FILES ${debian}/penstock.1.gz DESTINATION /usr/share/man/man1)
penstock_debian(FILES deploy/debian/copyright ${debian}/changelog.gz ${debian}/CHANGELOG.md.gz
                DESTINATION /usr/share/doc/penstock)
penstock_debian(FILES deploy/debian/lintian-overrides DESTINATION /usr/share/lintian/overrides RENAME penstock)
penstock_debian(DIRECTORY deploy/nginx deploy/caddy deploy/haproxy deploy/traefik deploy/prometheus deploy/grafana
                deploy/kubernetes DESTINATION /usr/share/doc/penstock/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME penstock)
set(CPACK_PACKAGE_VENDOR "the Penstock authors")
set(CPACK_PACKAGE_CONTACT "the Penstock authors <maintainers@penstock.invalid>")
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_COMPONENTS_ALL daemon debian)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Exact rate limiting for HTTP APIs")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"A gateway in front of an API, or a service that nginx, HAProxy, Caddy,
Traefik and programs ask, admits, delays or refuses each request by the
limits of one policy file. Counters are in memory, or in a Redis or Valkey
that several instances share.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "adduser, init-system-helpers (>= 1.54~)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS redis-server)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
file(WRITE ${debian}/conffiles "/etc/default/penstock\n/etc/penstock/policy.yaml\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${debian}/conffiles ${PROJECT_SOURCE_DIR}/deploy/debian/postinst
    ${PROJECT_SOURCE_DIR}/deploy/debian/prerm ${PROJECT_SOURCE_DIR}/deploy/debian/postrm)
include(CPack)
