use super::*;
use baton_sim::scenario;
use std::path::Path;

const LINKS: &str = r#"
    name = "plan"
    duration = "1 s"
    links.one = { between = ["a", "b"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
    links.two = { between = ["b", "c"], kind = "wired", rate = "1 Mbit/s", delay = "1 ms" }
"#;

fn kernel() -> KernelFacts {
    let sysctls = "tcp_sack tcp_timestamps tcp_recovery tcp_early_retrans tcp_frto tcp_retries2 tcp_rto_min_us \
                   tcp_moderate_rcvbuf tcp_rmem tcp_wmem";
    KernelFacts {
        release: "6.18".to_owned(),
        congestion_controls: vec!["reno".to_owned(), "cubic".to_owned()],
        sysctls: sysctls.split(' ').map(str::to_owned).collect(),
    }
}

fn planned(flows: &str) -> Plan {
    let text = format!("{LINKS}{flows}");
    let loaded = scenario::parse(&text, "test.toml", Path::new(""), &[]);
    plan(&loaded.unwrap_or_else(|error| panic!("{error}")), &kernel())
}

fn refused(flows: &str) -> Vec<String> {
    planned(flows)
        .refused
        .iter()
        .map(ToString::to_string)
        .collect()
}

const FLOW: &str = "[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"c\"\n";

#[test]
fn what_is_not_written_is_the_kernels_choice() {
    for profile in ["", "transport.profile = \"linux-6\""] {
        let plan = planned(&format!("{FLOW}{profile}"));
        assert!(plan.refused.is_empty() && plan.sysctls.is_empty());
        assert_eq!(plan.flows.len(), 1);
        let expected = SocketOptions {
            congestion: Some("cubic".to_owned()),
            ..SocketOptions::default()
        };
        assert_eq!(plan.flows[0].ends[0], expected);
    }
}

const AGENT: &str = "home_agents.b = { prefix = \"2001:db8:1::/64\" }\n";

fn mobile(mobility: &str) -> String {
    format!(
        "[mobiles.a]\ntimetable = [{{ at = \"0 s\", attach = \"one\" }}]\nmobility = {{ {mobility} }}\n"
    )
}

#[test]
fn a_kernel_has_one_address_under_a_mobility_protocol() {
    let mobile = mobile("protocol = \"mobile-ipv6\", home_agent = \"b\"");
    let planned = |live: &str| planned(&format!("{AGENT}{mobile}{FLOW}[live]\n{live}"));
    let plain = planned("");
    assert!(plain.wrong.is_empty() && plain.refused.is_empty());
    let wrong = planned("address = \"new\"\nnat = true").wrong;
    let keys: Vec<&str> = wrong.iter().map(|refusal| refusal.key.as_str()).collect();
    assert_eq!(keys, ["live.address", "live.nat"]);
    assert!(
        wrong[0].message.starts_with("a has a mobility protocol"),
        "{wrong:?}"
    );
}

#[test]
fn a_kernel_does_not_send_from_a_care_of_address() {
    let agent = AGENT.replace("2001:db8:1::/64", "192.0.2.0/24");
    let own = "protocol = \"mobile-ipv4\", home_agent = \"b\"";
    for keys in [
        "delivery = \"care-of-address\"",
        "policy = [{ port = 80, delivery = \"care-of-address\" }]",
    ] {
        let mobile = mobile(&format!("{own}, {keys}"));
        let wrong = planned(&format!("{agent}{mobile}{FLOW}")).wrong;
        assert_eq!(wrong[0].key, "mobiles.a.mobility.delivery");
    }
    let mobile = mobile(own);
    assert!(planned(&format!("{agent}{mobile}{FLOW}")).wrong.is_empty());
}

const RADIO: &str = r#"
    links.radio = { kind = "ldacs1", cells.one = { node = "b", position = { latitude = 0, longitude = 0 } } }
    mobiles.a = { timetable = [{ at = "0 s", attach = "radio" }], track.position = { latitude = 0, longitude = 1 } }
"#;

#[test]
fn a_radio_networks_cells_are_one_link_to_a_kernel() {
    assert!(planned(&format!("{RADIO}{FLOW}")).wrong.is_empty());
    let wrong = planned(&format!("{RADIO}{FLOW}[live]\naddress = \"new\"")).wrong;
    assert!(wrong[0].message.contains("radio network"), "{wrong:?}");
}

#[test]
fn a_remedy_works_at_a_gateway_but_not_in_a_kernels_tcp() {
    let mobile = "mobiles.a.timetable = [{ at = \"0 s\", attach = \"one\" }]\n";
    let at_gateway = refused(&format!("{mobile}{FLOW}remedies = [\"snoop\"]"));
    assert!(at_gateway.is_empty(), "{at_gateway:?}");
    let at_end = refused(&format!("{mobile}{FLOW}remedies = [\"ready-mobile\"]"));
    assert_eq!(
        at_end,
        [
            "flows.f.remedies: \"ready-mobile\" works inside the TCP of an end, which is the kernel's; nearest: \
             \"ready-gateway\", which shapes the connection at the gateway by the link in use"
        ]
    );
}

/// Plans a run in which programs take the place of flows.
fn replaced(text: &str) -> Plan {
    let text =
        format!("{LINKS}mobiles.a.timetable = [{{ at = \"0 s\", attach = \"one\" }}]\n{text}");
    let loaded = scenario::parse(&text, "test.toml", Path::new(""), &[]);
    let mut loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
    loaded.scenario.live.replaced = core::mem::take(&mut loaded.scenario.flows);
    plan(&loaded, &kernel())
}

/// A service is for all connections between two hosts, whichever of their flows names it.
#[test]
fn programs_have_the_gateways_of_the_flows_that_they_replace() {
    let back = FLOW.replace("\"f\"", "\"g\"");
    let snoop = "remedies = [\"snoop\"]\n";
    for flows in [
        format!("{FLOW}{snoop}"),
        format!("{FLOW}{snoop}{back}"),
        format!("{FLOW}{snoop}{back}{snoop}"),
    ] {
        let plan = replaced(&flows);
        assert!(plan.refused.is_empty() && plan.wrong.is_empty(), "{flows}");
    }
    let split = "remedies = [\"split-connection\"]\n";
    let two = replaced(&format!("{FLOW}{snoop}{back}{split}"));
    assert_eq!(two.wrong[0].key, "flows.g.remedies");
    let inside = replaced(&format!("{FLOW}remedies = [\"ready-mobile\"]"));
    assert_eq!(inside.refused[0].key, "flows.f.remedies");
}

/// A gateway knows a mobile by one address.
#[test]
fn a_gateways_mobile_keeps_its_address() {
    for live in ["nat = true", "address = \"new\""] {
        let flow = format!("{FLOW}remedies = [\"snoop\"]\n[live]\n{live}");
        let plan = replaced(&flow);
        assert_eq!(plan.refused[0].key, "flows.f.remedies");
        assert!(plan.refused[0].message.contains("one address"), "{live}");
    }
}

#[test]
fn kernels_do_not_speak_aerotp() {
    let wrong = planned(&format!("{FLOW}transport = \"aerotp\"")).wrong;
    assert_eq!(wrong[0].key, "flows.f.transport");
    let apart = planned(&format!(
        "{FLOW}transport = \"aerotp\"\n[live]\nhosts = [\"b\"]"
    ));
    assert!(
        apart.wrong.is_empty(),
        "between simulated hosts they need not"
    );
}

#[test]
fn classic_switches_off_at_both_hosts() {
    let plan = planned(&format!("{FLOW}transport.profile = \"classic\""));
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    for host in [NodeIndex(0), NodeIndex(2)] {
        let sysctls = plan.sysctls(host);
        let names: Vec<&str> = sysctls.iter().map(|sysctl| sysctl.path.as_str()).collect();
        let expected = ["early_retrans", "frto", "recovery", "sack", "timestamps"];
        assert_eq!(names, expected.map(|name| format!("net/ipv4/tcp_{name}")));
        assert!(sysctls.iter().all(|sysctl| sysctl.value == "0"));
    }
}

#[test]
fn a_key_goes_before_its_profile() {
    let plan = planned(&format!(
        "{FLOW}transport.profile = \"classic\"\ntransport.sack = true"
    ));
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    let sack = plan.sysctls(NodeIndex(0));
    let sack = sack.iter().find(|sysctl| sysctl.path.ends_with("tcp_sack"));
    assert_eq!(sack.map(|sysctl| sysctl.value.as_str()), Some("1"));
}

#[test]
fn what_the_kernel_does_not_take_is_refused_before_the_run() {
    let keys = "transport.data_retries = 300\ntransport.maximum_segment_size = \"64 B\"\ntransport.time_wait = \"60 s\"";
    let refused = refused(&format!("{FLOW}{keys}"));
    assert_eq!(
        refused,
        [
            "flows.f.transport.maximum_segment_size: the kernel takes 88 B to 32767 B; nearest: \"88 B\"",
            "flows.f.transport.data_retries: the kernel's tcp_retries2 takes 0 to 255, not 300; nearest: tcp_retries2 = 255",
        ]
    );
}

#[test]
fn each_end_has_its_own() {
    let tcp = "transport = { congestion = \"newreno\", maximum_segment_size = \"1024 B\", nagle = false, \
               receiver = { receive_buffer = \"6 kB\", delayed_ack = \"off\" }, sender = { data_retries = 5 } }";
    let plan = planned(&format!("{FLOW}{tcp}"));
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    let [sender, receiver] = &plan.flows[0].ends;
    assert_eq!(sender.congestion.as_deref(), Some("reno"));
    assert_eq!(
        (sender.maximum_segment_size, sender.no_delay),
        (Some(1024), true)
    );
    assert_eq!(
        (sender.receive_buffer, receiver.window_clamp),
        (None, Some(6000))
    );
    assert_eq!(plan.sysctls(NodeIndex(0))[0].value, "5");
    assert_eq!(plan.metrics(NodeIndex(2)), [RouteMetric::QuickAck(1)]);
}

/// A socket option fixes a buffer; a buffer that tunes itself is bounded by the namespace's settings, in memory.
#[test]
fn a_buffer_is_fixed_or_tunes_itself() {
    let keys = "transport = { profile = \"linux-6\", receive_buffer = \"1 MiB\", send_buffer = \"8 KiB\", receive_autotuning = true, \
                send_autotuning = true, sender = { send_autotuning = false } }";
    let plan = planned(&format!("{FLOW}{keys}"));
    assert!(plan.refused.is_empty(), "{:?}", plan.refused);
    let [sender, receiver] = &plan.flows[0].ends;
    assert_eq!(
        (
            sender.send_buffer,
            receiver.send_buffer,
            receiver.receive_buffer
        ),
        (Some(8192), None, None)
    );
    let settings: Vec<String> = plan
        .sysctls(NodeIndex(2))
        .iter()
        .map(|sysctl| format!("{} {}", sysctl.path, sysctl.value))
        .collect();
    assert_eq!(
        settings,
        [
            "net/ipv4/tcp_moderate_rcvbuf 1",
            "net/ipv4/tcp_rmem 4096\t131072\t2097152",
            "net/ipv4/tcp_wmem 4096\t8192\t8192",
        ]
    );
}

#[test]
fn a_window_of_small_segments_needs_a_larger_buffer() {
    let receive_buffer = |tcp: &str| {
        let plan = planned(&format!("{FLOW}transport = {{ {tcp} }}"));
        let [_, receiver] = &plan.flows[0].ends;
        (receiver.receive_buffer, receiver.window_clamp)
    };
    assert_eq!(
        receive_buffer("receive_buffer = \"16 KiB\""),
        (Some(16_384), Some(16_384))
    );
    // Linux 6.18 counts 2304 B for 1012 B of data: with twice 4096 B it advertises 3036 B, three segments of four. A
    // fifth is the one that waits to be read.
    let (buffer, clamp) =
        receive_buffer("receive_buffer = \"4 KiB\", maximum_segment_size = \"1024 B\"");
    assert_eq!(clamp, Some(4096));
    assert!(2 * buffer.unwrap() >= 5 * 2304 && 2 * buffer.unwrap() < 6 * 2304);
}

#[test]
fn what_cannot_be_done_is_named_with_what_comes_nearest() {
    let old = refused(&format!("{FLOW}transport.profile = \"linux-2.0.36\""));
    assert_eq!(
        old,
        [
            "flows.f.transport.profile: the kernel cannot behave as \"linux-2.0.36\"; nearest: \"classic\", the kernel without \
          SACK, timestamps, RACK, TLP and F-RTO"
        ]
    );
    let keys = refused(&format!(
        "{FLOW}transport = {{ tick = \"10 ms\", sender = {{ limited_transmit = false }}, maximum_rto = \"60 s\" }}"
    ));
    assert_eq!(
        keys,
        [
            "flows.f.transport.maximum_rto: this kernel (6.18) has no setting tcp_rto_max_ms",
            "flows.f.transport.tick: the kernel's clock is its own",
            "flows.f.transport.sender.limited_transmit: the kernel always sends on the first duplicate acknowledgments; \
             nearest: true",
        ]
    );
    let two = format!(
        "{FLOW}transport = {{ sack = false }}\n{}transport = {{ sack = true }}",
        FLOW.replace("\"f\"", "\"g\"")
    );
    assert_eq!(
        refused(&two)[0],
        "flows.g.transport.sack: the host can have only one tcp_sack, and flows.f.transport.sack wants 0 where this wants 1; \
         nearest: flows between other hosts"
    );
}

#[test]
fn a_flow_needs_two_real_ends_or_two_simulated_ones() {
    let half = planned(&format!("{FLOW}[live]\nhosts = [\"c\"]"));
    assert!(half.refused.is_empty());
    let wrong: Vec<String> = half.wrong.iter().map(ToString::to_string).collect();
    assert_eq!(
        wrong,
        ["flows.f: c is a real host and a is not; nearest: name both in live.hosts, or neither"]
    );
    let none = planned(&format!("{FLOW}[live]\nhosts = [\"b\"]"));
    assert!(none.flows.is_empty() && none.refused.is_empty());
}
