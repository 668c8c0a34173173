//! Mistakes in mobility protocols, and their messages.

use super::super::*;

/// Returns a laptop with a mobility protocol, with these keys of its home agent and of its protocol.
fn mobile(agent: &str, keys: &str) -> String {
    format!(
        "name = \"test\"\nduration = \"9 s\"\n\
         links.lan = {{ between = [\"agent\", \"laptop\"], kind = \"wired\" }}\n\
         links.modem = {{ between = [\"router\", \"laptop\"], kind = \"gsm\" }}\n\
         links.wire = {{ between = [\"router\", \"agent\"], kind = \"wired\" }}\n\
         home_agents.agent = {{ {agent} }}\n\
         [mobiles.laptop]\n\
         timetable = [{{ at = \"0 s\", attach = \"lan\" }}, {{ at = \"4 s\", attach = \"modem\" }}]\n\
         mobility = {{ {keys} }}\n"
    )
}

#[test]
fn mistakes_in_mobile_ipv6_are_told() {
    let (prefix, protocol) = (
        r#"prefix = "2001:db8:1::/64""#,
        r#"protocol = "mobile-ipv6", home_agent = "agent""#,
    );
    let right = mobile(prefix, protocol);
    assert!(parse(&right, "test.toml", Path::new("."), &[]).is_ok());
    let cases = [
        (
            mobile("", protocol),
            "home_agents.agent: key \"prefix\" is missing; expected an IPv6 prefix of at most 64 bits, like \"2001:db8:1::/64\"",
        ),
        (
            mobile(r#"prefix = "2001:db8:1::1/64""#, protocol),
            "has host bits set",
        ),
        (
            mobile(
                &format!("{prefix}, bicasting = \"1 s\", buffering = {{}}"),
                protocol,
            ),
            "home_agents.agent.bicasting: is set beside buffering; expected only one of them",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, multicast_buffering = {{}}, access_router_buffering = {{}}"),
            ),
            "mobility.multicast_buffering: is set beside access_router_buffering; expected only one of them",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, fast_handovers = \"predictive\""),
            ),
            "mobility.fast_handovers: goes with access_router_buffering, the routers' buffer for the mobile; expected \
             access_router_buffering = {} beside it",
        ),
        (
            mobile(
                &format!("{prefix}, buffering = {{}}"),
                &format!("{protocol}, predictive_binding_updates = true"),
            ),
            "mobility.predictive_binding_updates: would send the mobile's packets to its next link alone; expected \
             bicasting = \"2 s\" or the like at its home agent",
        ),
        (
            mobile(
                &format!("{prefix}, bicasting = \"2 s\""),
                &format!(
                    "{protocol}, predictive_binding_updates = true, asks_for_buffering = true"
                ),
            ),
            "mobility.predictive_binding_updates: is set beside asks_for_buffering; expected only one of them",
        ),
        (
            mobile(
                &format!("{prefix}, bicasting = \"2 s\""),
                &format!(
                    "{protocol}, predictive_binding_updates = true, multicast_buffering = {{}}"
                ),
            ),
            "mobility.predictive_binding_updates: is set beside multicast_buffering; expected only one of them",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, multicast_buffering = {{}}, route_optimization = true"),
            ),
            "mobility.multicast_buffering: needs the home agent, which `route_optimization = true` bypasses",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, multicast_buffering = {{ overflow = \"drop-newest\" }}"),
            ),
            "mobility.multicast_buffering.overflow",
        ),
        (
            mobile(
                &format!("{prefix}, prefix_pool = \"2001:db8::/32\""),
                protocol,
            ),
            "home_agents.agent.prefix_pool: overlaps with a prefix or pool of a home agent; expected a pool of its own",
        ),
        (
            mobile(&format!("{prefix}, prefix_pool = \"fd00::/8\""), protocol),
            "home_agents.agent.prefix_pool: contains addresses of nodes",
        ),
        (
            mobile(
                &format!("{prefix}, prefix_pool = \"2001:db8:8::/96\""),
                protocol,
            ),
            "\"96\" is not a prefix length from 0 to 64",
        ),
        (
            mobile(
                &format!("{prefix}, prefix_pool = \"2001:db8:8::/48\""),
                &format!("{protocol}, home_link = \"lan\""),
            ),
            "mobility.home_link: does not go with prefix_pool at the home agent, since no link has the mobile's home \
             network prefix",
        ),
        (
            mobile(
                &format!("{prefix}, prefix_pool = \"2001:db8:8::/48\""),
                &format!("{protocol}, multicast_buffering = {{}}"),
            ),
            "mobility.multicast_buffering: does not go with prefix_pool at the home agent, since routers know",
        ),
        (
            right.replace("home_agent = \"agent\"", "home_agent = \"agnet\""),
            "mobiles.laptop.mobility.home_agent: unknown home agent \"agnet\"; did you mean \"agent\"? (valid: agent)",
        ),
        (
            mobile(prefix, &format!("{protocol}, home_link = \"modem\"")),
            "link \"modem\" does not join \"laptop\" with its home agent \"agent\"; expected one that does",
        ),
        (
            right.replace(
                "attach = \"modem\"",
                "attach = \"modem\", outgoing_after = \"1 s\"",
            ),
            "outgoing_after: does not go with mobility, where the registration sets the time; expected only one of them",
        ),
        (
            mobile(prefix, r#"protocol = "nemo", home_agent = "agent""#),
            "key \"network_prefix\" is missing (protocol = \"nemo\" needs it); expected an IPv6 prefix of at most 64 bits",
        ),
        (
            right.replace(
                "[mobiles.laptop]",
                "home_agents.router = { prefix = \"2001:db8:1::/64\" }\n[mobiles.laptop]",
            ),
            "home_agents.router.prefix: overlaps with the prefix of \"agent\"; expected another, as addresses are formed from it",
        ),
        (
            mobile(r#"prefix = "fd62:6174:6f6e::/64""#, protocol),
            "home_agents.agent.prefix: contains addresses of nodes, fd62:6174:6f6e::1 to fd62:6174:6f6e::3; expected another, as addresses must be unique",
        ),
        (
            mobile(r#"prefix = "fd62:6174:6f6e:8002::/64""#, protocol),
            "home_agents.agent.prefix: contains addresses of access links, fd62:6174:6f6e:8000:: to fd62:6174:6f6e:8002:ffff:ffff:ffff:ffff; expected another",
        ),
        (
            mobile(
                prefix,
                r#"protocol = "nemo", home_agent = "agent", network_prefix = "fd62:6174:6f6e:8000::/63""#,
            ),
            "mobiles.laptop.mobility.network_prefix: contains addresses of access links, fd62:6174:6f6e:8000:: to",
        ),
        (
            mobile(
                prefix,
                r#"protocol = "nemo", home_agent = "agent", network_prefix = "2001:db8::/47""#,
            ),
            "mobiles.laptop.mobility.network_prefix: is the prefix of another network; expected one of its own",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, mih = {{ point_of_service = \"ruter\" }}"),
            ),
            "mobiles.laptop.mobility.mih.point_of_service: unknown node \"ruter\"; did you mean \"router\"?",
        ),
        (
            mobile(
                prefix,
                &format!("{protocol}, mih = {{ point_of_service = \"laptop\" }}"),
            ),
            "mobiles.laptop.mobility.mih.point_of_service: \"laptop\" is a mobile; expected a node that does not move",
        ),
        (
            mobile(
                prefix,
                &format!(
                    "{protocol}, mih = {{ point_of_service = \"router\", rate_threshold = \"1 Mbit/s\" }}"
                ),
            ),
            "mobiles.laptop.mobility.mih.rate_threshold: is for remote events; expected remote_events = true",
        ),
        (
            mobile(
                prefix,
                &format!(
                    "{protocol}, mih = {{ point_of_service = \"router\", remote_events = true, rate_threshold = \"66 Mbit/s\" }}"
                ),
            ),
            "mobiles.laptop.mobility.mih.rate_threshold: does not fit a message; expected \"1 kbit/s\" to \"65.535 Mbit/s\"",
        ),
        (
            mobile(prefix, "mih = { point_of_service = \"router\" }"),
            "mobiles.laptop.mobility: key \"protocol\" is missing",
        ),
        (
            right.replace(MODEM, &format!("{MODEM}, announced = \"5 s\"")),
            "timetable[1].announced: is longer than the link is in use; expected at most \"4 s\"",
        ),
        (
            right.replace("attach = \"lan\"", "attach = \"lan\", announced = \"1 s\""),
            "\"announced\" does not go with the first entry, which leaves no link",
        ),
        (
            mobile(
                prefix,
                r#"protocol = "nemo", home_agent = "agent", network_prefix = "2001:db8:2::/64""#,
            )
            .replace("home_agents.agent", SPARE),
            "mobiles.laptop: the network behind \"laptop\" leads to \"router\", which is outside; expected every link of \"laptop\" that leads there in its timetable or `prefer`",
        ),
    ];
    assert_messages(&cases);
}

fn assert_messages(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let error = parse(text, "test.toml", Path::new("."), &[]).err();
        let message = error.expect("a mistake").to_string();
        assert!(
            message.contains(expected),
            "{message}\nexpected: {expected}"
        );
    }
}

#[test]
fn mistakes_in_anchor_points_are_told() {
    let protocol = r#"protocol = "mobile-ipv6", home_agent = "agent", home_link = "lan""#;
    let with = |name: &str, anchor: &str, keys: &str| {
        let table = format!("mobility_anchor_points.{name} = {{ {anchor} }}\n[mobiles.laptop]");
        mobile(
            r#"prefix = "2001:db8:1::/64""#,
            &format!("{protocol}, {keys}"),
        )
        .replace("[mobiles.laptop]", &table)
    };
    let own = r#"prefix = "2001:db8:9::/64", access_routers = ["router"]"#;
    let all = format!(
        "{own}, distance = 2, preference = 9, buffering = {{}}, longest_lifetime = \"1 h\""
    );
    let right = with("router", &all, "");
    if let Err(error) = parse(&right, "test.toml", Path::new("."), &[]) {
        panic!("{error}");
    }
    let cases = [
        (
            with("agent", own, ""),
            "mobility_anchor_points.agent: is a mobile or a home agent; expected another node",
        ),
        (
            with("laptop", own, ""),
            "mobility_anchor_points.laptop: is a mobile or a home agent; expected another node",
        ),
        (
            with("router", &own.replace("/64", "/48"), ""),
            "mobility_anchor_points.router.prefix: is not of 64 bits, to which mobiles add their interface identifiers; \
             expected a prefix like \"2001:db8:9::/64\"",
        ),
        (
            with("router", &own.replace(":9::", ":1::"), ""),
            "mobility_anchor_points.router.prefix: overlaps with the prefix of \"agent\"; expected another, as addresses \
             are formed from it",
        ),
        (
            with("router", &own.replace(r#""router""#, ""), ""),
            "mobility_anchor_points.router.access_routers: is empty; expected the far ends of access links",
        ),
        (
            with("router", &own.replace(r#"["router"]"#, r#"["rooter"]"#), ""),
            "mobility_anchor_points.router.access_routers[0]: unknown node \"rooter\"; did you mean \"router\"?",
        ),
        (
            with(
                "router",
                &own.replace(r#"["router"]"#, r#"["router", "agent"]"#),
                "",
            ),
            "mobility_anchor_points.router.access_routers[1]: \"agent\" is at no access link of a mobile with Mobile IPv6 \
             away from home; expected the far end of one",
        ),
        (
            with("router", &format!("{own}, distance = 16"), ""),
            "mobility_anchor_points.router.distance: 16 is out of range; expected a whole number from 1 to 15",
        ),
        (
            with("router", own, "multicast_buffering = {}"),
            "mobiles.laptop.mobility.multicast_buffering: needs the mobile's address on its link at the home agent, which a \
             mobility anchor point hides; expected only one of them",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(&text, "test.toml", Path::new("."), &[]).expect_err(expected);
        let message = error.to_string();
        assert!(message.contains(expected), "{message}\n{expected}");
    }
}

#[test]
fn mistakes_in_mobile_ipv4_are_told() {
    let (prefix, protocol) = (
        r#"prefix = "192.0.2.0/24""#,
        r#"protocol = "mobile-ipv4", home_agent = "agent""#,
    );
    let with = |keys: &str| mobile(prefix, &format!("{protocol}, {keys}"));
    let beside = |agents: &str| {
        mobile(prefix, protocol).replace("[mobiles.laptop]", &format!("{agents}\n[mobiles.laptop]"))
    };
    let right = beside("foreign_agents = { router = { gateway = \"agent\" }, agent = {} }");
    let all = r#"home_link = "lan", care_of_address = "foreign-agent", delivery = "reverse-tunnel", lifetime = "10 min",
        simultaneous_bindings = true, smooth_handoff = true, encapsulation = "minimal",
        policy = [{ to = "router", port = 80, delivery = "care-of-address" }]"#;
    let right = right.replace(protocol, &format!("{protocol}, {}", all.replace('\n', " ")));
    let loaded = parse(&right, "test.toml", Path::new("."), &[]);
    assert!(
        loaded.is_ok(),
        "{}",
        loaded
            .err()
            .map_or(String::new(), |error| error.to_string())
    );
    let cases = [
        (
            mobile(r#"prefix = "192.0.2.0/31""#, protocol),
            "home_agents.agent.prefix: \"192.0.2.0/31\" \"31\" is not a prefix length from 1 to 30; expected an IPv6 prefix of at most 64 bits, like \"2001:db8:1::/64\", or an IPv4 prefix of at most 30 bits, like \"192.0.2.0/24\"",
        ),
        (
            mobile(r#"prefix = "127.0.0.0/24""#, protocol),
            "home_agents.agent.prefix: \"127.0.0.0/24\" has no addresses at which routers can reach hosts; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "224.0.0.0/24""#, protocol),
            "home_agents.agent.prefix: \"224.0.0.0/24\" has no addresses at which routers can reach hosts; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "ff02::/64""#, protocol),
            "home_agents.agent.prefix: \"ff02::/64\" has no addresses at which routers can reach hosts; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "fe80::/64""#, protocol),
            "home_agents.agent.prefix: \"fe80::/64\" has no addresses at which routers can reach hosts; expected an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "10.0.0.0/16""#, protocol),
            "home_agents.agent.prefix: contains addresses of nodes, 10.0.0.1 to 10.0.0.3; expected another, as addresses must be unique",
        ),
        (
            mobile(r#"prefix = "172.16.2.128/25""#, protocol),
            "contains addresses of access links, 172.16.0.0 to 172.16.2.255; expected another",
        ),
        (
            mobile(r#"prefix = "192.0.2.0/30""#, protocol).replace(
                "[mobiles.laptop]",
                "mobiles.agent = { timetable = [{ at = \"0 s\", attach = \"lan\" }] }\n[mobiles.laptop]",
            ),
            "mobiles.laptop.mobility.home_agent: has no address left in 192.0.2.0/30; expected a shorter prefix there",
        ),
        (
            beside("home_agents.router = { prefix = \"192.0.0.0/16\" }"),
            "home_agents.router.prefix: overlaps with the prefix of \"agent\"; expected another, as addresses are formed from it",
        ),
        (
            mobile(&format!("{prefix}, bicasting = \"1 s\""), protocol),
            "home_agents.agent.bicasting: \"bicasting\" does not go with an IPv4 prefix (its own: prefix, longest_lifetime)",
        ),
        (
            mobile(prefix, r#"protocol = "mobile-ipv6", home_agent = "agent""#),
            "mobiles.laptop.mobility.home_agent: \"agent\" has an IPv4 prefix; expected a home agent with an IPv6 prefix",
        ),
        (
            mobile(r#"prefix = "2001:db8:1::/64""#, protocol),
            "mobiles.laptop.mobility.home_agent: \"agent\" has an IPv6 prefix; expected a home agent with an IPv4 prefix",
        ),
        (
            with("route_optimization = true"),
            "\"route_optimization\" does not go with protocol = \"mobile-ipv4\" (its own: care_of_address, conflict_check, delivery, encapsulation, header_compression, outgoing_after, policy, simultaneous_bindings, smooth_handoff, preregistration)",
        ),
        (
            mobile(
                r#"prefix = "2001:db8:1::/64""#,
                r#"protocol = "nemo", home_agent = "agent", delivery = "triangle""#,
            ),
            "\"delivery\" does not go with protocol = \"nemo\"",
        ),
        (
            with("encapsulation = \"ipip\""),
            "mobility.encapsulation: unknown encapsulation \"ipip\" (valid: ip-in-ip, minimal, gre)",
        ),
        (
            with("conflict_check = \"background\""),
            "mobiles.laptop.mobility.conflict_check: applies to addresses from a DHCP server; expected `care_of_address = \"dhcp\"` beside it",
        ),
        (
            with("outgoing_after = \"request\""),
            "mobiles.laptop.mobility.outgoing_after: \"request\" needs an own care-of address: a foreign agent forwards for a mobile after the reply; expected `care_of_address = \"known\"` or \"dhcp\" beside it",
        ),
        (
            with("header_compression = true"),
            "mobiles.laptop.mobility.header_compression: needs a foreign agent, the other end of the compression; expected \
             `care_of_address = \"foreign-agent\"` and a node in `foreign_agents`",
        ),
        (
            with("smooth_handoff = true"),
            "mobiles.laptop.mobility.smooth_handoff: needs a foreign agent, which forwards packets to a mobile that has left",
        ),
        (
            with("preregistration = true"),
            "mobiles.laptop.mobility.preregistration: needs a foreign agent, through which the mobile registers with the next one; expected `care_of_address = \"foreign-agent\"` and a node in `foreign_agents`",
        ),
        (
            beside("foreign_agents = { router = { gateway = \"agent\" }, agent = {} }")
                .replace(protocol, &format!("{protocol}, preregistration = true")),
            "mobiles.laptop.mobility.preregistration: registers with the home agent, which a gateway keeps from learning of moves; expected foreign agents without `gateway`",
        ),
        (
            beside("foreign_agents.router = { buffering = { overflow = \"drop-newest\" } }"),
            "foreign_agents.router.buffering.overflow: \"overflow\" does not go with a foreign agent's buffering (its own: size, age, pace)",
        ),
        (
            with("lifetime = \"20 h\""),
            "mobiles.laptop.mobility.lifetime: is not a registration lifetime; expected \"1 s\" to \"65534 s\"",
        ),
        (
            with("policy = [{ delivery = \"triangle\" }]"),
            "mobiles.laptop.mobility.policy[0]: selects no packets; expected \"to\", \"port\" or both",
        ),
        (
            with("policy = [{ to = \"rooter\", delivery = \"triangle\" }]"),
            "mobiles.laptop.mobility.policy[0].to: unknown node \"rooter\"; did you mean \"router\"?",
        ),
        (
            with("policy = [{ port = 70000, delivery = \"triangle\" }]"),
            "mobiles.laptop.mobility.policy[0].port: 70000 is out of range; expected a whole number from 0 to 65535",
        ),
        (
            beside("foreign_agents.rooter = {}"),
            "foreign_agents.rooter: unknown node \"rooter\"; did you mean \"router\"?",
        ),
        (
            beside("foreign_agents.router = { gateway = \"agent\" }"),
            "foreign_agents.router.gateway: unknown foreign agent \"agent\" (valid: router)",
        ),
        (
            beside("foreign_agents = { router = { gateway = \"agent\" }, agent = { gateway = \"router\" } }"),
            "foreign_agents.router.gateway: \"agent\" has a gateway itself; expected a foreign agent without one",
        ),
        (
            beside("foreign_agents = { router = { gateway = [\"agent\", \"agent\"] }, agent = {} }"),
            "foreign_agents.router.gateway[1]: \"agent\" is listed twice; expected each gateway once",
        ),
        (
            beside("foreign_agents.router = { gateway = [] }"),
            "foreign_agents.router.gateway: has length 0; expected at least 1",
        ),
        (
            beside("foreign_agents.router = { private_address = true }"),
            "foreign_agents.router.private_address: needs a gateway, by whose address a mobile is known outside; expected \
             `gateway` beside it",
        ),
        (
            beside("foreign_agents = { router = { gateway = \"agent\", private_address = true }, agent = {} }"),
            "foreign_agents.router.private_address: no gateway stands between it and the home agent \"agent\"",
        ),
    ];
    assert_messages(&cases);
}

#[test]
fn mistakes_in_private_addresses_are_told() {
    let behind = |prefix: &str, keys: &str| {
        let protocol = format!(r#"protocol = "mobile-ipv4", home_agent = "agent", {keys}"#);
        let text = mobile(&format!("prefix = \"{prefix}\""), &protocol);
        let text = text.replace(r#"["router", "agent"]"#, r#"["router", "door"]"#);
        let more = "links.internet = { between = [\"door\", \"agent\"], kind = \"wired\" }\n\
                    foreign_agents = { router = { gateway = \"door\", private_address = true }, door = {} }\n";
        text.replace("[mobiles.laptop]", &format!("{more}[mobiles.laptop]"))
    };
    let right = behind("192.0.2.0/24", "");
    assert!(parse(&right, "test.toml", Path::new("."), &[]).is_ok());
    let cases = [
        (
            behind("192.168.0.0/24", ""),
            "foreign_agents.router.private_address: 192.168.0.1 is in the prefix of the home agent \"agent\"",
        ),
        (
            behind("192.0.2.0/24", "smooth_handoff = true"),
            "mobiles.laptop.mobility.smooth_handoff: names the previous foreign agent to the next one, which does not reach a \
             private address beyond its gateways; expected foreign agents without `private_address`",
        ),
    ];
    assert_messages(&cases);
}

#[test]
fn mistakes_in_micro_mobility_are_told() {
    let (prefix, protocol) = (
        r#"prefix = "192.0.2.0/24""#,
        r#"protocol = "mobile-ipv4", home_agent = "agent""#,
    );
    let domains = |text: &str| {
        mobile(prefix, protocol).replace("[mobiles.laptop]", &format!("{text}\n[mobiles.laptop]"))
    };
    let with = |keys: &str| domains(&format!("micro_mobility.campus = {{ {keys} }}"));
    let right = r#"protocol = "hawaii", root = "agent", routers = ["router"], path_setup = "msf", buffer = "9 kB", refresh = "9 s""#;
    assert!(parse(&with(right), "test.toml", Path::new("."), &[]).is_ok());
    let cases = [
        (
            with(r#"protocol = "mpls", root = "agent", routers = []"#),
            "micro_mobility.campus.protocol: unknown protocol \"mpls\" (valid: hawaii, cellular-ip)",
        ),
        (
            with(r#"protocol = "hawaii", routers = []"#),
            "micro_mobility.campus: key \"root\" is missing",
        ),
        (
            with(r#"protocol = "cellular-ip", root = "agent", routers = [], path_setup = "msf""#),
            "micro_mobility.campus.path_setup: \"path_setup\" does not go with protocol = \"cellular-ip\"",
        ),
        (
            with(r#"protocol = "hawaii", root = "agent", routers = ["rooter"]"#),
            "micro_mobility.campus.routers[0]: unknown node \"rooter\"; did you mean \"router\"?",
        ),
        (
            with(r#"protocol = "hawaii", root = "agent", routers = ["router", "agent"]"#),
            "micro_mobility.campus.routers[1]: \"agent\" is listed twice, or is the root; expected each router once",
        ),
        (
            with(r#"protocol = "hawaii", root = "agent", routers = ["router"]"#)
                .replace("[\"router\", \"agent\"]", "[\"router\", \"hub\"]"),
            "micro_mobility.campus.routers: no links lead from \"router\" to the root over routers of the domain alone; \
             expected the routers between them, too",
        ),
        (
            domains(
                "micro_mobility.one = { protocol = \"hawaii\", root = \"agent\", routers = [\"router\"] }\n\
                 micro_mobility.two = { protocol = \"hawaii\", root = \"router\", routers = [] }",
            ),
            "micro_mobility.two.root: \"router\" is a router of \"one\"; expected a node in one domain",
        ),
        (
            with(r#"protocol = "hawaii", root = "router", routers = ["laptop"]"#),
            "micro_mobility.campus: \"laptop\" is a mobile; expected routers that do not move",
        ),
        (
            with(
                r#"protocol = "hawaii", root = "agent", routers = ["router"], paging_update = "9 s""#,
            ),
            "micro_mobility.campus.paging_update: no mobile is ever idle; expected `active_timeout`, too",
        ),
        (
            with(
                r#"protocol = "hawaii", root = "agent", routers = ["router"], active_timeout = "9 s", paging_routers = ["agent"]"#,
            ),
            "micro_mobility.campus.paging_routers[0]: \"agent\" is not in `routers`; expected routers below the domain's root",
        ),
        (
            with(r#"protocol = "hawaii", root = "hub", routers = []"#).replace(
                "[mobiles",
                "links.far = { between = [\"agent\", \"hub\"], kind = \"wired\" }\n[mobiles",
            ),
            "micro_mobility.campus: no mobile with Mobile IPv4 has a link to one of its routers; expected a mobile with",
        ),
    ];
    assert_messages(&cases);
}

/// Each supports one version of IP.
#[test]
fn a_flow_between_the_versions_is_a_mistake() {
    let text = mobile(
        r#"prefix = "192.0.2.0/24""#,
        r#"protocol = "mobile-ipv4", home_agent = "agent""#,
    );
    let other = "home_agents.router = { prefix = \"2001:db8:1::/64\" }\n\
         links.cell = { between = [\"router\", \"aircraft\"], kind = \"wired\" }\n\
         [mobiles.aircraft]\n\
         timetable = [{ at = \"0 s\", attach = \"cell\" }]\n\
         mobility = { protocol = \"mobile-ipv6\", home_agent = \"router\" }\n\
         [[flows]]\nname = \"talk\"\nfrom = \"aircraft\"\nto = \"laptop\"\n\
         [mobiles.laptop]";
    let expected = "flows.talk: joins a mobile with Mobile IPv4 to one with Mobile IPv6; expected both ends to have the same version of IP";
    assert_messages(&[(text.replace("[mobiles.laptop]", other), expected)]);
}

const MODEM: &str = "attach = \"modem\"";
/// Another link between the laptop and its router, in front of the home agent's key.
const SPARE: &str =
    "links.spare = { between = [\"router\", \"laptop\"], kind = \"wired\" }\nhome_agents.agent";

#[test]
fn a_link_that_a_mobile_never_uses_is_a_warning() {
    let keys = r#"protocol = "mobile-ipv6", home_agent = "agent""#;
    let text = mobile(r#"prefix = "2001:db8:1::/64""#, keys).replace("home_agents.agent", SPARE);
    let loaded = parse(&text, "test.toml", Path::new("."), &[]).expect("valid");
    let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    let expected = "mobiles.laptop: link \"spare\" is never used: \"laptop\" never attaches to it";
    assert!(warnings[0].contains(expected), "{}", warnings[0]);
}
