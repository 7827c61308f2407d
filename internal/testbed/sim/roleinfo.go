package sim

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2/server"
)

// tellRole answers ROLE.
func (n *node) tellRole(cmd *command) bool {
	n.writeRole(cmd.conn.session.Peer)
	return true
}

func (n *node) writeRole(peer *server.Peer) {
	if p := n.role.primary; p != nil {
		ip, port := hostPort(p.addr)
		number, _ := strconv.Atoi(port)
		state, offset := "connected", n.role.offset
		if !n.role.synced {
			state, offset = "connect", -1
		}
		peer.WriteLen(5)
		peer.WriteBulk("slave")
		peer.WriteBulk(ip)
		peer.WriteInt(number)
		peer.WriteBulk(state)
		peer.WriteInt(int(offset))
		return
	}
	peer.WriteLen(3)
	peer.WriteBulk("master")
	peer.WriteInt(int(n.role.offset))
	peer.WriteLen(len(n.role.feeds))
	for _, f := range n.role.feeds {
		ip, port := hostPort(f.replica.addr)
		peer.WriteStrings([]string{ip, port, strconv.FormatInt(f.acked, 10)})
	}
}

// info answers INFO with the sections that say something of a simulated node.
func (n *node) info(cmd *command) bool {
	wanted := cmd.args[1:]
	has := func(section string) bool {
		return len(wanted) == 0 || slices.ContainsFunc(wanted, func(w string) bool {
			w = strings.ToLower(w)
			return w == section || w == "all" || w == "default" || w == "everything"
		})
	}
	var b bytes.Buffer
	if has("server") {
		fmt.Fprintf(&b, "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nuptime_in_seconds:%d\r\n\r\n", int(n.world.Now().Seconds()))
	}
	if has("clients") {
		n.world.mu.Lock()
		open := n.connections()
		n.world.mu.Unlock()
		fmt.Fprintf(&b, "# Clients\r\nconnected_clients:%d\r\nblocked_clients:%d\r\n\r\n", open, len(n.role.waiting))
	}
	if has("replication") {
		n.infoReplication(&b)
	}
	cmd.conn.session.Peer.WriteBulk(b.String())
	return true
}

func (n *node) infoReplication(b *bytes.Buffer) {
	fmt.Fprint(b, "# Replication\r\n")
	if p := n.role.primary; p != nil {
		ip, port := hostPort(p.addr)
		status := "up"
		if !n.role.synced {
			status = "down"
		}
		fmt.Fprintf(b, "role:slave\r\nmaster_host:%s\r\nmaster_port:%s\r\nmaster_link_status:%s\r\n", ip, port, status)
		if down := n.linkDown(); down > 0 {
			fmt.Fprintf(b, "master_link_down_since_seconds:%d\r\n", int(down.Seconds()))
		}
		fmt.Fprintf(b, "slave_repl_offset:%d\r\nslave_priority:100\r\nslave_read_only:%d\r\n", n.role.offset, boolInt(!n.world.spec.Replicas.Writable))
	} else {
		fmt.Fprint(b, "role:master\r\n")
	}
	fmt.Fprintf(b, "connected_slaves:%d\r\n", len(n.role.feeds))
	for i, f := range n.role.feeds {
		ip, port := hostPort(f.replica.addr)
		fmt.Fprintf(b, "slave%d:ip=%s,port=%s,state=online,offset=%d", i, ip, port, f.acked)
		if n.world.spec.Replicas.Min > 0 { // else replicas speak of writes only
			fmt.Fprintf(b, ",lag=%d", int((n.world.Now() - f.heard).Seconds()))
		}
		fmt.Fprint(b, "\r\n")
	}
	if n.world.spec.Replicas.Min > 0 && n.role.primary == nil {
		fmt.Fprintf(b, "min_slaves_good_slaves:%d\r\n", n.good())
	}
	fmt.Fprintf(b, "master_replid:%040s\r\nmaster_repl_offset:%d\r\n\r\n", n.role.id, n.role.offset)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func hostPort(addr string) (ip, port string) {
	ip, port, _ = strings.Cut(addr, ":")
	return ip, port
}
