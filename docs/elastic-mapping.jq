# Mends the mapping of `tshark -G elastic-mapping` for OpenSearch and Elasticsearch, which would else reject documents
# of `tshark -T ek`:
#
#     tshark -G elastic-mapping --elastic-mapping-filter frame,ip,ipv6,tcp,smcr \
#         | jq --rawfile fields <(tshark -G fields) -f docs/elastic-mapping.jq > mapping.json
#
# tshark writes numbers with a hexadecimal base as "0x...", bytes as "00:11:..." and durations as seconds, which are no
# long, byte or date. Texts and MAC addresses are not in the mapping at all, so nobody could search for them. Wireshark
# 4.6 writes the type "unsigned long", which neither of the two knows.
#
# SPDX-License-Identifier: GPL-2.0-or-later

def type_of:
    if .[3] | test("^FT_(STRING|UINT_STRING|STRINGZ|STRINGZPAD|STRINGZTRUNC|ETHER|BYTES|UINT_BYTES)") then "keyword"
    elif .[3] == "FT_RELATIVE_TIME" then "double"
    elif (.[3] | test("^FT_U?INT")) and (.[5] | startswith("BASE_HEX")) then "keyword"
    else null end;

# A row of `tshark -G fields`: F, name, filter, type, protocol, base, ...
($fields | split("\n") | map(split("\t") | select(.[0] == "F" and type_of)
    | {protocol: .[4], name: "\(.[4])_\(.[2] | gsub("\\."; "_"))", type: type_of})) as $rows
| .mappings.properties.layers.properties |=
    reduce ($rows[]) as $row (.; if .[$row.protocol] then
        .[$row.protocol].properties[$row.name] = {type: $row.type} else . end)
| walk(if type == "object" and .type? == "unsigned long" then .type = "unsigned_long" else . end)
