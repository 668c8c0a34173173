//! A download over QUIC with `quinn`, to see what a handover does to it: `examples/quic/transfer.py` in Rust.
//!
//! ```text
//! cargo build --release -p baton-example-quinn
//! sudo .venv/bin/baton live train --handover '8 s hard 2 s' --set live.address=new \
//!     --server 'target/release/quinn-transfer serve' -- target/release/quinn-transfer fetch server 8000000
//! ```
//!
//! The server says from where its client speaks, so that a migration shows in `server.log`. The client says how long
//! the download took and how long it stood still, which `--expect 'program.reported.longest_stall_s < 3'` takes, too.

use lexopt::prelude::{Long, Value, ValueExt};
use quinn::congestion::BbrConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use quinn::rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use quinn::rustls::{self, DigitallySignedStruct, SignatureScheme};
use quinn::{ClientConfig, Connection, Endpoint, Incoming, ServerConfig, TransportConfig};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

const PORT: u16 = 4433;
const PROTOCOL: &[u8] = b"transfer";
/// A client that only receives must speak up, or the server would go on sending to an address that is gone.
const PING_EVERY: Duration = Duration::from_millis(250);
/// From one look at where the client is to the next.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// What the server writes at a time.
const CHUNK: usize = 16 << 10;
/// Windows under `--bbr`: four times what a link of 50 Mbit/s has in flight over a geostationary satellite.
const LARGE_WINDOW: u32 = 16 << 20;
const USAGE: &str = "usage: quinn-transfer [--port N] [--bbr] serve
       quinn-transfer [--port N] [--bbr] [--within SECONDS] fetch HOST BYTES
--bbr: BBR and large windows, for a link that loses packets and has much in flight
--within: ends after so long with what has come by then";

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let done = runtime
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(run()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Options of the command line.
struct Options {
    port: u16,
    uses_bbr: bool,
    within: Duration,
}

/// Reads the command line and does what it says.
async fn run() -> Result<(), Failure> {
    let (mut options, mut words) = (Options::default(), Vec::new());
    let mut arguments = lexopt::Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("port") => options.port = arguments.value()?.parse()?,
            Long("bbr") => options.uses_bbr = true,
            Long("within") => {
                options.within = Duration::try_from_secs_f64(arguments.value()?.parse()?)?;
            }
            Value(word) => words.push(word.string()?),
            _ => return Err(USAGE.into()),
        }
    }
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve"] => serve(&options).await,
        ["fetch", host, bytes] => fetch(host, &options, bytes.parse()?).await,
        _ => Err(USAGE.into()),
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            port: PORT,
            uses_bbr: false,
            within: Duration::MAX,
        }
    }
}

impl Options {
    /// Settings of either end.
    fn transport(&self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        if self.uses_bbr {
            transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
            transport.send_window(LARGE_WINDOW.into());
            transport.receive_window(LARGE_WINDOW.into());
            transport.stream_receive_window(LARGE_WINDOW.into());
        }
        transport
    }
}

/// Serves until it is killed.
async fn serve(options: &Options) -> Result<(), Failure> {
    // Signed by its own key, which the client does not check: this is a laboratory.
    let signed = rcgen::generate_simple_self_signed(["server".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der());
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut settings = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?));
    settings.transport_config(Arc::new(options.transport()));
    let endpoint = Endpoint::server(settings, (Ipv6Addr::UNSPECIFIED, options.port).into())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async {
            // A client that goes away is no failure of the server's.
            let _ = answer(incoming).await;
        });
    }
    Ok(())
}

/// Answers each number in ASCII with as many bytes.
async fn answer(incoming: Incoming) -> Result<(), Failure> {
    let connection = incoming.await?;
    tokio::spawn(say_where(connection.clone()));
    loop {
        let (mut to_client, mut from_client) = connection.accept_bi().await?;
        let asked = from_client.read_to_end(20).await?;
        let mut left: usize = std::str::from_utf8(&asked)?.parse()?;
        while left > 0 {
            let chunk = left.min(CHUNK);
            to_client.write_all(&[0; CHUNK][..chunk]).await?;
            left -= chunk;
        }
        to_client.finish()?;
    }
}

/// Says where the client is whenever that is new.
async fn say_where(connection: Connection) {
    let mut known = None;
    while connection.close_reason().is_none() {
        let address = connection.remote_address();
        if known.replace(address) != Some(address) {
            println!(
                "client at {} port {}",
                address.ip().to_canonical(),
                address.port()
            );
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Fetches once, and measures how long it stands still.
async fn fetch(host: &str, options: &Options, count: usize) -> Result<(), Failure> {
    let begun = Instant::now();
    let (endpoint, address) = client(host, options)?;
    let connection = endpoint.connect(address, "server")?.await?;
    let (mut to_server, mut from_server) = connection.open_bi().await?;
    to_server.write_all(count.to_string().as_bytes()).await?;
    to_server.finish()?;
    let (mut received, mut longest, mut last) = (0, Duration::ZERO, Instant::now());
    // In whatever order it comes: what waits behind a gap has come all the same.
    let mut is_over = false;
    loop {
        let left = options.within.saturating_sub(begun.elapsed());
        let Ok(read) = timeout(left, from_server.read_chunk(CHUNK, false)).await else {
            is_over = true;
            break;
        };
        let Some(chunk) = read? else { break };
        let now = Instant::now();
        (longest, last) = (longest.max(now - last), now);
        received += chunk.bytes.len();
    }
    let taken = begun.elapsed().as_secs_f64();
    report("longest_stall_s", longest.as_secs_f64())?;
    let stall_ms = longest.as_millis();
    println!("{received} bytes in {taken:.2} s; longest stall {stall_ms} ms");
    connection.close(0_u32.into(), b"");
    endpoint.wait_idle().await;
    match received == count || is_over {
        true => Ok(()),
        false => Err(format!("expected {count} bytes").into()),
    }
}

/// An endpoint that may go wherever the kernel's routes lead, and the server's address.
fn client(host: &str, options: &Options) -> Result<(Endpoint, SocketAddr), Failure> {
    let address = (host, options.port)
        .to_socket_addrs()?
        .next()
        .ok_or("the server has no address")?;
    let own = match address {
        SocketAddr::V4(_) => "0.0.0.0:0",
        SocketAddr::V6(_) => "[::]:0",
    };
    let provider = Arc::new(ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let mut transport = options.transport();
    transport.keep_alive_interval(Some(PING_EVERY));
    let mut settings = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    settings.transport_config(Arc::new(transport));
    let mut endpoint = Endpoint::client(own.parse()?)?;
    endpoint.set_default_client_config(settings);
    Ok((endpoint, address))
}

/// Tells Baton, where it runs us, what we have measured.
fn report(name: &str, number: f64) -> Result<(), Failure> {
    if let Some(file) = std::env::var_os("BATON_REPORT") {
        let mut opened = OpenOptions::new().create(true).append(true).open(file)?;
        writeln!(opened, "{name}={number}")?;
    }
    Ok(())
}

/// Trusts every server.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
