//! A download over multipath QUIC (`noq`) with BBR: `serve CERTIFICATE PORT`, and `fetch CERTIFICATE SERVER:PORT BYTES
//! SECONDS ADDRESS…` over the default route and a path from each address. It prints what it has measured as
//! `transfers.py fetch` does.

use noq::congestion::Bbr3Config;
use noq::{
    ClientConfig, Connection, Endpoint, FourTuple, PathStatus, ServerConfig, TransportConfig,
};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const NAME: &str = "server";
const CHUNK: usize = 16 << 10;
/// Four times what the fastest link has in flight.
const WINDOW: u32 = 16 << 20;
/// A client keeps the first arrival in each of these times.
const KEPT_EVERY: Duration = Duration::from_millis(10);

/// Tries of a path, and the interval between them.
const TRIES: u32 = 20;
const TRY_EVERY: Duration = Duration::from_millis(200);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", certificate, port] => runtime.block_on(serve(certificate, port.parse()?)),
        [
            "fetch",
            certificate,
            server,
            bytes,
            seconds,
            ref addresses @ ..,
        ] => {
            let wanted = (
                bytes.parse()?,
                Duration::try_from_secs_f64(seconds.parse()?)?,
            );
            let addresses: Result<Vec<IpAddr>, _> =
                addresses.iter().map(|text| text.parse()).collect();
            runtime.block_on(fetch(certificate, server.parse()?, wanted, &addresses?))
        }
        _ => Err("expected `serve` or `fetch`".into()),
    }
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    transport.max_concurrent_multipath_paths(4);
    transport.congestion_controller_factory(Arc::new(Bbr3Config::default()));
    transport.send_window(WINDOW.into());
    transport.receive_window(WINDOW.into());
    transport.stream_receive_window(WINDOW.into());
    Arc::new(transport)
}

/// Serves until it is killed; leaves its certificate in a file.
async fn serve(certificate: &str, port: u16) -> Result<(), Failure> {
    let signed = rcgen::generate_simple_self_signed(vec![NAME.to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der());
    let mut settings = ServerConfig::with_single_cert(vec![signed.cert.der().clone()], key.into())?;
    settings.transport_config(transport());
    let endpoint = Endpoint::server(settings, (Ipv4Addr::UNSPECIFIED, port).into())?;
    std::fs::write(certificate, signed.cert.der())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async {
            // A client that goes away is no failure of the server's.
            if let Ok(connection) = incoming.await {
                let _ = answer(connection).await;
            }
        });
    }
    Ok(())
}

/// Answers each number in ASCII with as many bytes.
async fn answer(connection: Connection) -> Result<(), Failure> {
    loop {
        let (mut to_client, mut from_client) = connection.accept_bi().await?;
        let mut left: usize = std::str::from_utf8(&from_client.read_to_end(20).await?)?.parse()?;
        while left > 0 {
            let chunk = left.min(CHUNK);
            to_client.write_all(&[0; CHUNK][..chunk]).await?;
            left -= chunk;
        }
        to_client.finish()?;
    }
}

/// Downloads until all has come or the time is over.
async fn fetch(
    certificate: &str,
    server: SocketAddr,
    (bytes, within): (usize, Duration),
    addresses: &[IpAddr],
) -> Result<(), Failure> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(std::fs::read(certificate)?))?;
    let mut settings = ClientConfig::with_root_certificates(Arc::new(roots))?;
    settings.transport_config(transport());
    let endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    let clock = clock();
    let begun = Instant::now();
    let connection = endpoint.connect_with(settings, server, NAME)?.await?;
    for &address in addresses {
        tokio::spawn(open_path(
            connection.clone(),
            FourTuple::new(server, Some(address)),
        ));
    }
    let (mut to_server, mut from_server) = connection.open_bi().await?;
    to_server.write_all(bytes.to_string().as_bytes()).await?;
    to_server.finish()?;
    let (mut received, mut longest, mut last) = (0, Duration::ZERO, None);
    let mut arrivals: Vec<(Duration, usize)> = Vec::new();
    while received < bytes {
        let left = within.saturating_sub(begun.elapsed());
        let Ok(read) = timeout(left, from_server.read_chunk(CHUNK)).await else {
            break;
        };
        let chunk = match read {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                eprintln!("after {received} bytes: {error}");
                break;
            }
        };
        received += chunk.len();
        let now = begun.elapsed();
        longest = longest.max(last.map_or(Duration::ZERO, |last| now - last));
        last = Some(now);
        let is_due = |&(at, _): &(Duration, usize)| now - at >= KEPT_EVERY || received == bytes;
        if arrivals.last().is_none_or(is_due) {
            arrivals.push((now, received));
        }
    }
    let taken = if received < bytes {
        within
    } else {
        begun.elapsed()
    }
    .as_secs_f64();
    let at = |(at, total): &(Duration, usize)| format!("[{}, {total}]", clock + at.as_secs_f64());
    let arrivals = arrivals.iter().map(at).collect::<Vec<_>>().join(", ");
    let longest = longest.as_secs_f64();
    println!(
        "{{\"bytes\": {received}, \"taken_s\": {taken}, \"longest_stall_s\": {longest}, \"arrivals\": [{arrivals}]}}"
    );
    Ok(())
}

/// Opens a path while the download goes on. The peer must first have sent it connection IDs.
async fn open_path(connection: Connection, ends: FourTuple) {
    for _ in 0..TRIES {
        match connection.open_path(ends, PathStatus::Available).await {
            Ok(_) => return,
            Err(error) => eprintln!("{ends}: {error}"),
        }
        sleep(TRY_EVERY).await;
    }
}

/// Returns the machine's monotonic clock in seconds, by which the bench tells when a link was away.
fn clock() -> f64 {
    let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    uptime
        .split(' ')
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default()
}
