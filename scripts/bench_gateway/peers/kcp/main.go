// Program kcp relays TCP over KCP, as kcptun does: streams of smux in one session of kcp-go, in kcptun's mode "fast3",
// with its cipher. Near the caller it takes TCP, at the far end it calls the target.
package main

import (
	"crypto/sha256"
	"flag"
	"io"
	"log"
	"net"

	"github.com/xtaci/kcp-go/v5"
	"github.com/xtaci/smux"
)

// Bytes of the sockets' buffers, and of what smux holds for a stream: more than is in flight on the fastest link.
const (
	socketBuffer = 4 << 20
	streamBuffer = 16 << 20
)

var (
	mtu    = flag.Int("mtu", 1350, "bytes of a packet")
	window = flag.Int("window", 1024, "packets in flight")
	data   = flag.Int("data", 0, "packets of a block of the erasure code; 0: no code")
	parity = flag.Int("parity", 0, "redundant packets behind them")
)

func main() {
	flag.Parse()
	if flag.NArg() != 3 {
		log.Fatal("usage: kcp [options] near LISTEN PEER, or kcp [options] far LISTEN TARGET")
	}
	side, listen, target := flag.Arg(0), flag.Arg(1), flag.Arg(2)
	key := sha256.Sum256([]byte("bench"))
	cipher, err := kcp.NewAESBlockCrypt(key[:16])
	check(err)
	if side == "near" {
		near(listen, target, cipher)
	} else {
		far(listen, target, cipher)
	}
}

// near carries each TCP connection as a stream of one session.
func near(listen, peer string, cipher kcp.BlockCrypt) {
	session, err := kcp.DialWithOptions(peer, cipher, *data, *parity)
	check(err)
	set(session)
	check(session.SetReadBuffer(socketBuffer))
	check(session.SetWriteBuffer(socketBuffer))
	streams, err := smux.Client(session, settings())
	check(err)
	listener, err := net.Listen("tcp", listen)
	check(err)
	for {
		connection, err := listener.Accept()
		check(err)
		stream, err := streams.OpenStream()
		check(err)
		go join(connection, stream)
	}
}

// far calls the target for each stream.
func far(listen, target string, cipher kcp.BlockCrypt) {
	listener, err := kcp.ListenWithOptions(listen, cipher, *data, *parity)
	check(err)
	check(listener.SetReadBuffer(socketBuffer))
	check(listener.SetWriteBuffer(socketBuffer))
	for {
		session, err := listener.AcceptKCP()
		check(err)
		set(session)
		streams, err := smux.Server(session, settings())
		check(err)
		go func() {
			for {
				stream, err := streams.AcceptStream()
				if err != nil {
					return
				}
				connection, err := net.Dial("tcp", target)
				check(err)
				go join(connection, stream)
			}
		}()
	}
}

// set gives a session kcptun's mode "fast3": no delay, a tick of 10 ms, a retransmission after two later
// acknowledgments, and no congestion control.
func set(session *kcp.UDPSession) {
	session.SetStreamMode(true)
	session.SetNoDelay(1, 10, 2, 1)
	session.SetMtu(*mtu)
	session.SetWindowSize(*window, *window)
}

func settings() *smux.Config {
	config := smux.DefaultConfig()
	config.Version = 2
	config.MaxReceiveBuffer = streamBuffer
	config.MaxStreamBuffer = streamBuffer
	return config
}

// join copies both directions until either ends.
func join(a, b io.ReadWriteCloser) {
	done := make(chan struct{}, 2)
	for _, pair := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			done <- struct{}{}
		}()
	}
	<-done
	a.Close()
	b.Close()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
