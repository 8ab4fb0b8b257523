"""The operations of the API; what a transport for `asyncio` answers is awaited."""

# Written from the OpenAPI document by `npm run generate`; changes here are lost.

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Optional, Union
from urllib.parse import quote

from . import types
from ._request import CallOptions, Event


class Feature:
    def __init__(self, transport: Any) -> None:
        self._transport = transport


class Health(Feature):
    """Operations of `health`."""

    def live(self, *, options: Optional[CallOptions] = None) -> types.HealthLiveAnswer:
        """Liveness; never touches the database."""
        return self._transport.json("GET", "/health", options=options)

    def ready(self, *, options: Optional[CallOptions] = None) -> types.Readiness:
        """Readiness: runs the real key look-up and checks schema and registry."""
        return self._transport.json("GET", "/health/ready", records=(503,), options=options)

    def status(self, *, options: Optional[CallOptions] = None) -> types.HealthStatusAnswer:
        """Model aliases and providers with their last known health."""
        return self._transport.json("GET", "/status", options=options)


class Keys(Feature):
    """Operations of `keys`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.KeysListAnswer:
        """The account's API keys, newest first."""
        return self._transport.json("GET", "/v1/keys", query={"limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Key]:
        """The account's API keys, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/keys", query={"limit": limit, "cursor": cursor}, items="keys", options=options)

    def create(self, body: Optional[types.KeysCreateBody] = None, *, options: Optional[CallOptions] = None) -> types.CreatedKey:
        """Create an API key; its text is in this response only."""
        return self._transport.json("POST", "/v1/keys", body=body or {}, idempotent=True, options=options)

    def connect(self, body: Optional[types.KeysConnectBody] = None, *, options: Optional[CallOptions] = None) -> types.ConnectedKey:
        """Turn an access token of an app into an API key of at most its scopes."""
        return self._transport.json("POST", "/v1/keys/connect", body=body or {}, idempotent=True, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Key:
        """One API key, without its text."""
        return self._transport.json("GET", f"/v1/keys/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.KeysUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.Key:
        """Rename, pause or resume a key, or change what it may do."""
        return self._transport.json("PATCH", f"/v1/keys/{quote(id, safe='')}", body=body or {}, options=options)

    def revoke(self, id: str, *, children: Optional[Literal["true", "false"]] = None, options: Optional[CallOptions] = None) -> types.KeysRevokeAnswer:
        """Revoke a key at once, on every gateway."""
        return self._transport.json("DELETE", f"/v1/keys/{quote(id, safe='')}", query={"children": children}, options=options)


class Devices(Feature):
    """Operations of `devices`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.DevicesListAnswer:
        """The account's devices, most recently seen first."""
        return self._transport.json("GET", "/v1/devices", query={"limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Device]:
        """The account's devices, most recently seen first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/devices", query={"limit": limit, "cursor": cursor}, items="devices", options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Device:
        """One device."""
        return self._transport.json("GET", f"/v1/devices/{quote(id, safe='')}", options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> types.DevicesRemoveAnswer:
        """Forget a device, with what it is as a machine of the scheduler and the commands approved for it."""
        return self._transport.json("DELETE", f"/v1/devices/{quote(id, safe='')}", options=options)


class Machines(Feature):
    """Operations of `machines`."""

    def list(self, *, q: Optional[str] = None, online: Optional[Literal["true", "false"]] = None, tag: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.MachinesListAnswer:
        """The account's machines, newest first."""
        return self._transport.json("GET", "/v1/machines", query={"q": q, "online": online, "tag": tag, "limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, q: Optional[str] = None, online: Optional[Literal["true", "false"]] = None, tag: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Machine]:
        """The account's machines, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/machines", query={"q": q, "online": online, "tag": tag, "limit": limit, "cursor": cursor}, items="machines", options=options)

    def get(self, device_id: str, *, options: Optional[CallOptions] = None) -> types.Machine:
        """One machine."""
        return self._transport.json("GET", f"/v1/machines/{quote(device_id, safe='')}", options=options)

    def update(self, device_id: str, body: Optional[types.MachinesUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.Machine:
        """Rename, tag, pause or limit a machine that takes runs."""
        return self._transport.json("PATCH", f"/v1/machines/{quote(device_id, safe='')}", body=body or {}, options=options)

    def remove(self, device_id: str, *, options: Optional[CallOptions] = None) -> types.MachinesRemoveAnswer:
        """Forget a machine, with the commands approved for it, and revoke the key that it serves with."""
        return self._transport.json("DELETE", f"/v1/machines/{quote(device_id, safe='')}", options=options)

    def approvals(self, device_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.MachinesApprovalsAnswer:
        """Commands that wait for approval on a machine, newest first."""
        return self._transport.json("GET", f"/v1/machines/{quote(device_id, safe='')}/approvals", query={"limit": limit, "cursor": cursor}, options=options)

    def approvals_all(self, device_id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.MachinesApprovalsAnswerApprovalsItem]:
        """Commands that wait for approval on a machine, newest first. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/machines/{quote(device_id, safe='')}/approvals", query={"limit": limit, "cursor": cursor}, items="approvals", options=options)


class Hosts(Feature):
    """Operations of `hosts`."""

    def list(self, *, options: Optional[CallOptions] = None) -> types.HostsListAnswer:
        """Hosts that are present now."""
        return self._transport.json("GET", "/v1/hosts", options=options)

    def get(self, device_id: str, *, options: Optional[CallOptions] = None) -> types.Host:
        """One host that is present now."""
        return self._transport.json("GET", f"/v1/hosts/{quote(device_id, safe='')}", options=options)

    def stream(self, *, os: Optional[str] = None, hostname: Optional[str] = None, roots: Optional[str] = None, detached: Optional[Literal["true", "false"]] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.HostsStreamReady], Event[Literal["exec"], types.HostsStreamExec], Event[Literal["exec_cancel"], types.HostsStreamExecCancel]]]:
        """Be present as a host and receive operations. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/hosts/stream", query={"os": os, "hostname": hostname, "roots": roots, "detached": detached}, options=options)

    def exec(self, device_id: str, body: types.HostsExecBody, *, options: Optional[CallOptions] = None) -> types.HostExecResult:
        """Run an operation on a host and wait for its result."""
        return self._transport.json("POST", f"/v1/hosts/{quote(device_id, safe='')}/exec", body=body, idempotent=True, options=options)

    def result(self, req_id: str, body: types.HostsResultBody, *, options: Optional[CallOptions] = None) -> types.HostsResultAnswer:
        """Report the result of an operation; only the device it was sent to may."""
        return self._transport.json("POST", f"/v1/hosts/exec/{quote(req_id, safe='')}/result", body=body, options=options)

    def results(self, body: types.HostsResultsBody, *, options: Optional[CallOptions] = None) -> types.HostsResultsAnswer:
        """Report the results of several operations at once; only the device they were sent to may."""
        return self._transport.json("POST", "/v1/hosts/results", body=body, options=options)

    def list_execs(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, device_id: Optional[str] = None, state: Optional[Literal["waiting", "sent", "running", "done", "expired", "cancelled", "unknown"]] = None, options: Optional[CallOptions] = None) -> types.HostsListExecsAnswer:
        """Commands that hosts do by themselves, newest first, for 30 days."""
        return self._transport.json("GET", "/v1/hosts/exec", query={"limit": limit, "cursor": cursor, "device_id": device_id, "state": state}, options=options)

    def list_execs_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, device_id: Optional[str] = None, state: Optional[Literal["waiting", "sent", "running", "done", "expired", "cancelled", "unknown"]] = None, options: Optional[CallOptions] = None) -> Iterator[types.HostExec]:
        """Commands that hosts do by themselves, newest first, for 30 days. Every item, page after page."""
        return self._transport.pages("GET", "/v1/hosts/exec", query={"limit": limit, "cursor": cursor, "device_id": device_id, "state": state}, items="execs", options=options)

    def get_exec(self, req_id: str, *, options: Optional[CallOptions] = None) -> types.HostExec:
        """One command that a host does by itself."""
        return self._transport.json("GET", f"/v1/hosts/exec/{quote(req_id, safe='')}", options=options)

    def cancel_exec(self, req_id: str, *, options: Optional[CallOptions] = None) -> types.HostExec:
        """Keep a command from starting, or have its host end it."""
        return self._transport.json("DELETE", f"/v1/hosts/exec/{quote(req_id, safe='')}", options=options)

    def exec_output(self, req_id: str, *, from_: Optional[int] = None, options: Optional[CallOptions] = None) -> str:
        """What a command wrote, as text; with `Accept: text/event-stream` as it comes, until it is over."""
        return self._transport.text("GET", f"/v1/hosts/exec/{quote(req_id, safe='')}/output", query={"from": from_}, options=options)

    def exec_output_events(self, req_id: str, *, from_: Optional[int] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["chunk"], types.HostsExecOutputChunk], Event[Literal["end"], types.HostsExecOutputEnd]]]:
        """What a command wrote, as text; with `Accept: text/event-stream` as it comes, until it is over. As it comes, until it ends."""
        return self._transport.events("GET", f"/v1/hosts/exec/{quote(req_id, safe='')}/output", query={"from": from_}, options=options)

    def append_output(self, req_id: str, body: Union[bytes, str], *, offset: int, options: Optional[CallOptions] = None) -> types.HostsAppendOutputAnswer:
        """Add to what a command wrote; 10 MiB are kept, for 30 days."""
        return self._transport.json("POST", f"/v1/hosts/exec/{quote(req_id, safe='')}/output", query={"offset": offset}, data=body, options=options)

    def start_exec(self, req_id: str, body: types.HostsStartExecBody, *, options: Optional[CallOptions] = None) -> types.HostsStartExecAnswer:
        """Ask whether a command may start, as the host that it was sent to; once."""
        return self._transport.json("POST", f"/v1/hosts/exec/{quote(req_id, safe='')}/start", body=body, options=options)

    def invite(self, body: Optional[types.HostsInviteBody] = None, *, options: Optional[CallOptions] = None) -> types.HostsInviteAnswer:
        """Make a code with which one machine gets a key to be a host, within ten minutes."""
        return self._transport.json("POST", "/v1/hosts/invites", body=body or {}, idempotent=True, options=options)

    def redeem_invite(self, body: types.HostsRedeemInviteBody, *, options: Optional[CallOptions] = None) -> types.HostsRedeemInviteAnswer:
        """Exchange a code for a key with which one device is a host and may do nothing else."""
        return self._transport.json("POST", "/v1/hosts/invites/redeem", body=body, options=options)


class Notifications(Feature):
    """Operations of `notifications`."""

    def list(self, *, unread: Optional[Literal["true", "false"]] = None, archived: Optional[Literal["true", "false"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.NotificationsListAnswer:
        """The account's notifications, newest first."""
        return self._transport.json("GET", "/v1/notifications", query={"unread": unread, "archived": archived, "limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, unread: Optional[Literal["true", "false"]] = None, archived: Optional[Literal["true", "false"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Notification]:
        """The account's notifications, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/notifications", query={"unread": unread, "archived": archived, "limit": limit, "cursor": cursor}, items="notifications", options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.NotificationsGetAnswer:
        """One notification."""
        return self._transport.json("GET", f"/v1/notifications/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.NotificationsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.NotificationsUpdateAnswer:
        """Mark a notification read or archived, or neither again."""
        return self._transport.json("PATCH", f"/v1/notifications/{quote(id, safe='')}", body=body or {}, options=options)

    def read_all(self, *, options: Optional[CallOptions] = None) -> types.NotificationsReadAllAnswer:
        """Mark every notification read."""
        return self._transport.json("POST", "/v1/notifications/read-all", options=options)

    def get_preferences(self, *, options: Optional[CallOptions] = None) -> types.NotificationsGetPreferencesAnswer:
        """Which notifications go which way."""
        return self._transport.json("GET", "/v1/notifications/preferences", options=options)

    def set_preferences(self, body: types.NotificationsSetPreferencesBody, *, options: Optional[CallOptions] = None) -> types.NotificationsSetPreferencesAnswer:
        """Say which notifications go which way, in place of what was said before."""
        return self._transport.json("PUT", "/v1/notifications/preferences", body=body, options=options)

    def send_test(self, *, options: Optional[CallOptions] = None) -> types.NotificationsSendTestAnswer:
        """Send a test notification to the caller's account; the answer says where it arrived."""
        return self._transport.json("POST", "/v1/notifications/test", idempotent=True, options=options)

    def stream(self, *, after: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.NotificationsStreamReady], Event[Literal["notification"], types.NotificationsStreamNotification], Event[Literal["read_all"], types.NotificationsStreamReadAll]]]:
        """Notifications as they come, and as they are read on other devices. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/notifications/stream", query={"after": after}, options=options)

    def vapid_key(self, *, options: Optional[CallOptions] = None) -> types.NotificationsVapidKeyAnswer:
        """The key that a browser subscribes to Web Push with (`applicationServerKey`, base64url)."""
        return self._transport.json("GET", "/v1/push/vapid-key", options=options)

    def list_subscriptions(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.NotificationsListSubscriptionsAnswer:
        """The browsers that are told, newest first."""
        return self._transport.json("GET", "/v1/push/subscriptions", query={"limit": limit, "cursor": cursor}, options=options)

    def list_subscriptions_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.NotificationsListSubscriptionsAnswerSubscriptionsItem]:
        """The browsers that are told, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/push/subscriptions", query={"limit": limit, "cursor": cursor}, items="subscriptions", options=options)

    def subscribe(self, body: types.NotificationsSubscribeBody, *, options: Optional[CallOptions] = None) -> types.NotificationsSubscribeAnswer:
        """Tell a browser of the account's notifications; a repeat answers 200."""
        return self._transport.json("POST", "/v1/push/subscriptions", body=body, options=options)

    def unsubscribe(self, body: types.NotificationsUnsubscribeBody, *, options: Optional[CallOptions] = None) -> types.NotificationsUnsubscribeAnswer:
        """Forget a browser, by its endpoint."""
        return self._transport.json("DELETE", "/v1/push/subscriptions", body=body, options=options)

    def remove_subscription(self, id: str, *, options: Optional[CallOptions] = None) -> types.NotificationsRemoveSubscriptionAnswer:
        """Forget a browser, by its id: one that was lost, from another."""
        return self._transport.json("DELETE", f"/v1/push/subscriptions/{quote(id, safe='')}", options=options)

    def push_delivered(self, id: str, body: types.NotificationsPushDeliveredBody, *, options: Optional[CallOptions] = None) -> types.NotificationsPushDeliveredAnswer:
        """Say that a push has come to a browser: its service worker does, when it shows one."""
        return self._transport.json("POST", f"/v1/push/subscriptions/{quote(id, safe='')}/delivered", body=body, options=options)

    def list_webhooks(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.NotificationsListWebhooksAnswer:
        """The account's webhooks, newest first."""
        return self._transport.json("GET", "/v1/notifications/webhooks", query={"limit": limit, "cursor": cursor}, options=options)

    def list_webhooks_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Webhook]:
        """The account's webhooks, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/notifications/webhooks", query={"limit": limit, "cursor": cursor}, items="webhooks", options=options)

    def create_webhook(self, body: types.NotificationsCreateWebhookBody, *, options: Optional[CallOptions] = None) -> types.CreatedWebhook:
        """Send the account's notifications to an address; the `secret` is in this response only."""
        return self._transport.json("POST", "/v1/notifications/webhooks", body=body, idempotent=True, options=options)

    def get_webhook(self, id: str, *, options: Optional[CallOptions] = None) -> types.Webhook:
        """One webhook."""
        return self._transport.json("GET", f"/v1/notifications/webhooks/{quote(id, safe='')}", options=options)

    def update_webhook(self, id: str, body: Optional[types.NotificationsUpdateWebhookBody] = None, *, options: Optional[CallOptions] = None) -> types.Webhook:
        """Change a webhook, or switch it off and on; off, what waits for it is dropped."""
        return self._transport.json("PATCH", f"/v1/notifications/webhooks/{quote(id, safe='')}", body=body or {}, options=options)

    def remove_webhook(self, id: str, *, options: Optional[CallOptions] = None) -> types.NotificationsRemoveWebhookAnswer:
        """Delete a webhook, and what waits for it."""
        return self._transport.json("DELETE", f"/v1/notifications/webhooks/{quote(id, safe='')}", options=options)

    def rotate_webhook_secret(self, id: str, *, options: Optional[CallOptions] = None) -> types.RotatedWebhook:
        """Make a new secret, in this response only; the one before signs too for 24 hours."""
        return self._transport.json("POST", f"/v1/notifications/webhooks/{quote(id, safe='')}/rotate-secret", idempotent=True, options=options)

    def test_webhook(self, id: str, *, options: Optional[CallOptions] = None) -> types.NotificationsTestWebhookAnswer:
        """Send a test notification there now, and answer how it went."""
        return self._transport.json("POST", f"/v1/notifications/webhooks/{quote(id, safe='')}/test", idempotent=True, options=options)

    def webhook_deliveries(self, id: str, *, limit: Optional[int] = None, options: Optional[CallOptions] = None) -> types.NotificationsWebhookDeliveriesAnswer:
        """The last attempts to deliver, newest first; kept for 7 days, 200 at most."""
        return self._transport.json("GET", f"/v1/notifications/webhooks/{quote(id, safe='')}/deliveries", query={"limit": limit}, options=options)


class Heartbeats(Feature):
    """Operations of `heartbeats`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, q: Optional[str] = None, status: Optional[str] = None, tag: Optional[str] = None, sort: Optional[Literal["trouble", "name"]] = None, days: Optional[int] = None, options: Optional[CallOptions] = None) -> types.HeartbeatsListAnswer:
        """The account's monitors, newest first, or by `sort`."""
        return self._transport.json("GET", "/v1/heartbeats", query={"limit": limit, "cursor": cursor, "q": q, "status": status, "tag": tag, "sort": sort, "days": days}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, q: Optional[str] = None, status: Optional[str] = None, tag: Optional[str] = None, sort: Optional[Literal["trouble", "name"]] = None, days: Optional[int] = None, options: Optional[CallOptions] = None) -> Iterator[types.Heartbeat]:
        """The account's monitors, newest first, or by `sort`. Every item, page after page."""
        return self._transport.pages("GET", "/v1/heartbeats", query={"limit": limit, "cursor": cursor, "q": q, "status": status, "tag": tag, "sort": sort, "days": days}, items="heartbeats", options=options)

    def create(self, body: types.HeartbeatsCreateBody, *, options: Optional[CallOptions] = None) -> types.CreatedHeartbeat:
        """Create a monitor; its `ping_url` is in this response only."""
        return self._transport.json("POST", "/v1/heartbeats", body=body, idempotent=True, options=options)

    def stream(self, *, after: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.NotificationsStreamReady], Event[Literal["heartbeat"], types.HeartbeatsStreamHeartbeat]]]:
        """Changes of the account's monitors, live. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/heartbeats/stream", query={"after": after}, options=options)

    def get(self, id: str, *, days: Optional[int] = None, options: Optional[CallOptions] = None) -> types.Heartbeat:
        """One monitor."""
        return self._transport.json("GET", f"/v1/heartbeats/{quote(id, safe='')}", query={"days": days}, options=options)

    def update(self, id: str, body: Optional[types.HeartbeatsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.Heartbeat:
        """Rename, change the times of, pause or resume a monitor."""
        return self._transport.json("PATCH", f"/v1/heartbeats/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> types.HeartbeatsRemoveAnswer:
        """Delete a monitor and its pings."""
        return self._transport.json("DELETE", f"/v1/heartbeats/{quote(id, safe='')}", options=options)

    def rotate(self, id: str, *, options: Optional[CallOptions] = None) -> types.HeartbeatsRotateAnswer:
        """Give a monitor a new `ping_url`, in this response only; the one before answers 404 at once."""
        return self._transport.json("POST", f"/v1/heartbeats/{quote(id, safe='')}/rotate", idempotent=True, options=options)

    def pings(self, id: str, *, limit: Optional[int] = None, options: Optional[CallOptions] = None) -> types.HeartbeatsPingsAnswer:
        """The last 100 pings of a monitor, newest first."""
        return self._transport.json("GET", f"/v1/heartbeats/{quote(id, safe='')}/pings", query={"limit": limit}, options=options)

    def log(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.HeartbeatsLogAnswer:
        """Pings and changes of status of a monitor, newest first."""
        return self._transport.json("GET", f"/v1/heartbeats/{quote(id, safe='')}/log", query={"limit": limit, "cursor": cursor}, options=options)

    def log_all(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.HeartbeatLogEntry]:
        """Pings and changes of status of a monitor, newest first. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/heartbeats/{quote(id, safe='')}/log", query={"limit": limit, "cursor": cursor}, items="log", options=options)

    def get_ping_key(self, *, options: Optional[CallOptions] = None) -> types.HeartbeatsGetPingKeyAnswer:
        """Since when the account has a ping key, without its text."""
        return self._transport.json("GET", "/v1/heartbeats/ping-key", options=options)

    def create_ping_key(self, *, options: Optional[CallOptions] = None) -> types.CreatedPingKey:
        """Make the account's ping key, in this response only; the one before answers 404 at once."""
        return self._transport.json("POST", "/v1/heartbeats/ping-key", idempotent=True, options=options)

    def remove_ping_key(self, *, options: Optional[CallOptions] = None) -> types.HeartbeatsRemovePingKeyAnswer:
        """End the account's ping key; addresses of single monitors go on."""
        return self._transport.json("DELETE", "/v1/heartbeats/ping-key", options=options)

    def list_badges(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.HeartbeatsListBadgesAnswer:
        """What has a badge, newest first, without the addresses."""
        return self._transport.json("GET", "/v1/heartbeats/badges", query={"limit": limit, "cursor": cursor}, options=options)

    def list_badges_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Badge]:
        """What has a badge, newest first, without the addresses. Every item, page after page."""
        return self._transport.pages("GET", "/v1/heartbeats/badges", query={"limit": limit, "cursor": cursor}, items="badges", options=options)

    def create_badge(self, id: str, *, options: Optional[CallOptions] = None) -> types.CreatedBadge:
        """Show a monitor's name and state at a public address, in this response only; the one before answers 404."""
        return self._transport.json("POST", f"/v1/heartbeats/{quote(id, safe='')}/badge", idempotent=True, options=options)

    def remove_badge(self, id: str, *, options: Optional[CallOptions] = None) -> types.HeartbeatsRemoveBadgeAnswer:
        """End the public address of a monitor."""
        return self._transport.json("DELETE", f"/v1/heartbeats/{quote(id, safe='')}/badge", options=options)

    def create_account_badge(self, *, options: Optional[CallOptions] = None) -> types.CreatedBadge:
        """Show the worst state of all monitors at a public address, in this response only; the one before answers 404."""
        return self._transport.json("POST", "/v1/heartbeats/badge", idempotent=True, options=options)

    def remove_account_badge(self, *, options: Optional[CallOptions] = None) -> types.HeartbeatsRemoveAccountBadgeAnswer:
        """End the public address of all monitors together."""
        return self._transport.json("DELETE", "/v1/heartbeats/badge", options=options)

    def badge_svg(self, badge_token: str, *, options: Optional[CallOptions] = None) -> bytes:
        """A badge as a picture."""
        return self._transport.bytes("GET", f"/badge/{quote(badge_token, safe='')}.svg", options=options)

    def badge_json(self, badge_token: str, *, options: Optional[CallOptions] = None) -> types.BadgeEndpoint:
        """A badge as an endpoint of shields.io."""
        return self._transport.json("GET", f"/badge/{quote(badge_token, safe='')}.json", options=options)

    def ping(self, token: str, body: Union[bytes, str, None] = None, *, rid: Optional[Union[str, List[str]]] = None, options: Optional[CallOptions] = None) -> str:
        """The job succeeded."""
        return self._transport.text("GET", f"/ping/{quote(token, safe='')}", query={"rid": rid}, data=body, options=options)

    def signal(self, token: str, signal: str, body: Union[bytes, str, None] = None, *, rid: Optional[Union[str, List[str]]] = None, create: Optional[str] = None, options: Optional[CallOptions] = None) -> str:
        """The job started (`start`), failed (`fail`), says something (`log`), or ended with an exit code (0 to 255)."""
        return self._transport.text("GET", f"/ping/{quote(token, safe='')}/{quote(signal, safe='')}", query={"rid": rid, "create": create}, data=body, options=options)

    def signal_slug(self, ping_key: str, slug: str, signal: str, body: Union[bytes, str, None] = None, *, rid: Optional[Union[str, List[str]]] = None, create: Optional[str] = None, options: Optional[CallOptions] = None) -> str:
        """The same for the monitor that has this slug in the account of the ping key."""
        return self._transport.text("GET", f"/ping/{quote(ping_key, safe='')}/{quote(slug, safe='')}/{quote(signal, safe='')}", query={"rid": rid, "create": create}, data=body, options=options)


class Schedules(Feature):
    """Operations of `schedules`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, q: Optional[str] = None, kind: Optional[str] = None, enabled: Optional[Literal["true", "false"]] = None, options: Optional[CallOptions] = None) -> types.SchedulesListAnswer:
        """The account's schedules, newest first; with `scheduler:serve` alone, those that the calling device may run."""
        return self._transport.json("GET", "/v1/schedules", query={"limit": limit, "cursor": cursor, "q": q, "kind": kind, "enabled": enabled}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, q: Optional[str] = None, kind: Optional[str] = None, enabled: Optional[Literal["true", "false"]] = None, options: Optional[CallOptions] = None) -> Iterator[types.Schedule]:
        """The account's schedules, newest first; with `scheduler:serve` alone, those that the calling device may run. Every item, page after page."""
        return self._transport.pages("GET", "/v1/schedules", query={"limit": limit, "cursor": cursor, "q": q, "kind": kind, "enabled": enabled}, items="schedules", options=options)

    def create(self, body: types.NewSchedule, *, options: Optional[CallOptions] = None) -> types.Schedule:
        """Create a schedule."""
        return self._transport.json("POST", "/v1/schedules", body=body, idempotent=True, options=options)

    def upcoming(self, *, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, options: Optional[CallOptions] = None) -> types.SchedulesUpcomingAnswer:
        """When the timetables of all enabled schedules ask for runs, the next one first."""
        return self._transport.json("GET", "/v1/schedules/upcoming", query={"from": from_, "to": to, "limit": limit}, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Schedule:
        """One schedule."""
        return self._transport.json("GET", f"/v1/schedules/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.ScheduleChanges] = None, *, options: Optional[CallOptions] = None) -> types.Schedule:
        """Change a schedule; an edited command loses its approvals."""
        return self._transport.json("PATCH", f"/v1/schedules/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> None:
        """Delete a schedule and cancel its runs."""
        return self._transport.nothing("DELETE", f"/v1/schedules/{quote(id, safe='')}", options=options)

    def run(self, id: str, *, options: Optional[CallOptions] = None) -> types.SchedulesRunAnswer:
        """Run it now; `queued` is false when a pause, a skipped day, a limit or an overlap forbids it."""
        return self._transport.json("POST", f"/v1/schedules/{quote(id, safe='')}/run", idempotent=True, options=options)

    def runs(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SchedulesRunsAnswer:
        """Runs of a schedule, newest first."""
        return self._transport.json("GET", f"/v1/schedules/{quote(id, safe='')}/runs", query={"limit": limit, "cursor": cursor}, options=options)

    def runs_all(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Run]:
        """Runs of a schedule, newest first. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/schedules/{quote(id, safe='')}/runs", query={"limit": limit, "cursor": cursor}, items="runs", options=options)

    def approve_command(self, id: str, body: types.SchedulesApproveCommandBody, *, options: Optional[CallOptions] = None) -> types.SchedulesApproveCommandAnswer:
        """Approve the command of a shell schedule for the calling device."""
        return self._transport.json("POST", f"/v1/schedules/{quote(id, safe='')}/approve-command", body=body, options=options)

    def revoke_command(self, id: str, *, options: Optional[CallOptions] = None) -> types.SchedulesRevokeCommandAnswer:
        """Withdraw the calling device's approval."""
        return self._transport.json("DELETE", f"/v1/schedules/{quote(id, safe='')}/approve-command", options=options)

    def preview(self, body: Optional[types.SchedulesPreviewBody] = None, *, options: Optional[CallOptions] = None) -> types.SchedulesPreviewAnswer:
        """Read plain words (English, Romanian) or a trigger, and show its next runs."""
        return self._transport.json("POST", "/v1/schedules/preview", body=body or {}, options=options)

    def pause(self, body: Optional[types.SchedulesPauseBody] = None, *, options: Optional[CallOptions] = None) -> types.SchedulesPauseAnswer:
        """Create no runs, until resumed or until an instant."""
        return self._transport.json("POST", "/v1/schedules/pause", body=body or {}, idempotent=True, options=options)

    def resume(self, body: Optional[types.SchedulesResumeBody] = None, *, options: Optional[CallOptions] = None) -> types.SchedulesResumeAnswer:
        """End the pause; with backfill, one catch-up run for each schedule that missed slots."""
        return self._transport.json("POST", "/v1/schedules/resume", body=body or {}, idempotent=True, options=options)

    def templates(self, *, options: Optional[CallOptions] = None) -> types.SchedulesTemplatesAnswer:
        """Ready-made schedules."""
        return self._transport.json("GET", "/v1/schedules/templates", options=options)

    def use_template(self, body: types.SchedulesUseTemplateBody, *, options: Optional[CallOptions] = None) -> types.SchedulesUseTemplateAnswer:
        """Create a schedule from a template."""
        return self._transport.json("POST", "/v1/schedules/templates", body=body, idempotent=True, options=options)

    def stream(self, *, after: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.NotificationsStreamReady], Event[Literal["schedule"], types.SchedulesStreamSchedule]]]:
        """Changes of schedules and of their runs, live. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/schedules/stream", query={"after": after}, options=options)


class Scheduler(Feature):
    """Operations of `scheduler`."""

    def claim(self, body: Optional[types.SchedulerClaimBody] = None, *, options: Optional[CallOptions] = None) -> types.SchedulerClaimAnswer:
        """Take the next run for this host, with a lease of 60 s; waits up to wait_s for one."""
        return self._transport.json("POST", "/v1/scheduler/claim", body=body or {}, options=options)

    def heartbeat(self, id: str, body: types.SchedulerHeartbeatBody, *, options: Optional[CallOptions] = None) -> types.SchedulerHeartbeatAnswer:
        """Keep the lease of a run; `cancel` tells the host to stop it."""
        return self._transport.json("POST", f"/v1/schedule-runs/{quote(id, safe='')}/heartbeat", body=body, options=options)

    def result(self, id: str, body: types.SchedulerResultBody, *, options: Optional[CallOptions] = None) -> types.SchedulerResultAnswer:
        """Report how an attempt ended."""
        return self._transport.json("POST", f"/v1/schedule-runs/{quote(id, safe='')}/result", body=body, options=options)

    def decide(self, id: str, body: types.SchedulerDecideBody, *, options: Optional[CallOptions] = None) -> types.SchedulerDecideAnswer:
        """Approve or skip a run that awaits approval, from any device."""
        return self._transport.json("POST", f"/v1/schedule-runs/{quote(id, safe='')}/decision", body=body, idempotent=True, options=options)

    def cancel(self, id: str, *, options: Optional[CallOptions] = None) -> types.SchedulerCancelAnswer:
        """Cancel a run that is not over; its host is told on the next heartbeat."""
        return self._transport.json("POST", f"/v1/schedule-runs/{quote(id, safe='')}/cancel", idempotent=True, options=options)

    def runs(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, state: Optional[str] = None, schedule_id: Optional[str] = None, device_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SchedulerRunsAnswer:
        """The account's runs, newest first."""
        return self._transport.json("GET", "/v1/schedule-runs", query={"limit": limit, "cursor": cursor, "state": state, "schedule_id": schedule_id, "device_id": device_id, "from": from_, "to": to}, options=options)

    def runs_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, state: Optional[str] = None, schedule_id: Optional[str] = None, device_id: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Run]:
        """The account's runs, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/schedule-runs", query={"limit": limit, "cursor": cursor, "state": state, "schedule_id": schedule_id, "device_id": device_id, "from": from_, "to": to}, items="runs", options=options)

    def get_run(self, id: str, *, options: Optional[CallOptions] = None) -> types.RunDetail:
        """One run."""
        return self._transport.json("GET", f"/v1/schedule-runs/{quote(id, safe='')}", options=options)

    def rerun(self, id: str, *, options: Optional[CallOptions] = None) -> types.SchedulerRerunAnswer:
        """Run the schedule of a run that is over again, now, as `POST /v1/schedules/{id}/run` does."""
        return self._transport.json("POST", f"/v1/schedule-runs/{quote(id, safe='')}/rerun", idempotent=True, options=options)

    def log(self, id: str, *, from_: Optional[int] = None, options: Optional[CallOptions] = None) -> str:
        """What a run wrote, as text; with `Accept: text/event-stream` as it comes, until the run is over."""
        return self._transport.text("GET", f"/v1/schedule-runs/{quote(id, safe='')}/log", query={"from": from_}, options=options)

    def log_events(self, id: str, *, from_: Optional[int] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["log"], types.SchedulerLogLog], Event[Literal["end"], types.SchedulerLogEnd]]]:
        """What a run wrote, as text; with `Accept: text/event-stream` as it comes, until the run is over. As it comes, until it ends."""
        return self._transport.events("GET", f"/v1/schedule-runs/{quote(id, safe='')}/log", query={"from": from_}, options=options)

    def append_log(self, id: str, body: Union[bytes, str], *, attempt: int, offset: int, options: Optional[CallOptions] = None) -> types.SchedulerAppendLogAnswer:
        """Add to what an attempt wrote; 10 MiB of a run are kept, for 30 days."""
        return self._transport.json("POST", f"/v1/schedule-runs/{quote(id, safe='')}/log", query={"attempt": attempt, "offset": offset}, data=body, options=options)

    def hosts(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SchedulerHostsAnswer:
        """Machines that claim runs."""
        return self._transport.json("GET", "/v1/scheduler/hosts", query={"limit": limit, "cursor": cursor}, options=options)

    def hosts_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.SchedulerHost]:
        """Machines that claim runs. Every item, page after page."""
        return self._transport.pages("GET", "/v1/scheduler/hosts", query={"limit": limit, "cursor": cursor}, items="hosts", options=options)

    def get_host(self, id: str, *, options: Optional[CallOptions] = None) -> types.SchedulerHost:
        """One machine that claims runs."""
        return self._transport.json("GET", f"/v1/scheduler/hosts/{quote(id, safe='')}", options=options)

    def update_host(self, id: str, body: Optional[types.SchedulerUpdateHostBody] = None, *, options: Optional[CallOptions] = None) -> types.SchedulerHost:
        """Rename, tag, pause or limit a machine."""
        return self._transport.json("PATCH", f"/v1/scheduler/hosts/{quote(id, safe='')}", body=body or {}, options=options)

    def remove_host(self, id: str, *, options: Optional[CallOptions] = None) -> types.SchedulerRemoveHostAnswer:
        """Forget a machine, with the commands approved for it; its device stays."""
        return self._transport.json("DELETE", f"/v1/scheduler/hosts/{quote(id, safe='')}", options=options)

    def report_native(self, body: types.SchedulerReportNativeBody, *, options: Optional[CallOptions] = None) -> types.SchedulerReportNativeAnswer:
        """Report a slot that the operating system's scheduler ran while the platform was out of reach."""
        return self._transport.json("POST", "/v1/scheduler/native-runs", body=body, options=options)

    def fire(self, trigger_id: str, *, options: Optional[CallOptions] = None) -> types.SchedulerFireAnswer:
        """Run every enabled schedule with this event trigger."""
        return self._transport.json("POST", f"/v1/triggers/{quote(trigger_id, safe='')}/fire", idempotent=True, options=options)


class Sandboxes(Feature):
    """Operations of `sandboxes`."""

    def write_file(self, id: str, path: str, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> types.SandboxesWriteFileAnswer:
        """Write a file of at most 100 MiB, whole or not at all."""
        return self._transport.json("PUT", f"/v1/sandboxes/{quote(id, safe='')}/files/{quote(path, safe='/')}", data=body, options=options)

    def read_file(self, id: str, path: str, *, options: Optional[CallOptions] = None) -> bytes:
        """The bytes of a file."""
        return self._transport.bytes("GET", f"/v1/sandboxes/{quote(id, safe='')}/files/{quote(path, safe='/')}", options=options)

    def list_files(self, id: str, *, path: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SandboxesListFilesAnswer:
        """The entries of a directory, one level."""
        return self._transport.json("GET", f"/v1/sandboxes/{quote(id, safe='')}/files", query={"path": path}, options=options)

    def artifacts(self, id: str, *, options: Optional[CallOptions] = None) -> types.SandboxesArtifactsAnswer:
        """Collect every file under /workspace/out: hashed, scanned, with signed links."""
        return self._transport.json("GET", f"/v1/sandboxes/{quote(id, safe='')}/artifacts", options=options)

    def snapshot(self, id: str, body: Optional[types.SandboxesSnapshotBody] = None, *, options: Optional[CallOptions] = None) -> types.SandboxesSnapshotAnswer:
        """Pack the workspace into a tar archive, scanned, with a signed link; v1."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/snapshot", body=body or {}, idempotent=True, options=options)

    def preview(self, id: str, body: types.SandboxesPreviewBody, *, options: Optional[CallOptions] = None) -> types.SandboxesPreviewAnswer:
        """An address that forwards HTTP and WebSocket to a port inside, for anyone who has it."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/preview", body=body, idempotent=True, options=options)

    def list(self, *, status: Optional[Literal["running", "paused", "stopped", "expired", "destroyed"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SandboxesListAnswer:
        """The account's sandboxes: the live ones, then the others, newest first; without `status` all but the destroyed."""
        return self._transport.json("GET", "/v1/sandboxes", query={"status": status, "limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, status: Optional[Literal["running", "paused", "stopped", "expired", "destroyed"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Sandbox]:
        """The account's sandboxes: the live ones, then the others, newest first; without `status` all but the destroyed. Every item, page after page."""
        return self._transport.pages("GET", "/v1/sandboxes", query={"status": status, "limit": limit, "cursor": cursor}, items="data", options=options)

    def create(self, body: Optional[types.NewSandbox] = None, *, options: Optional[CallOptions] = None) -> types.Sandbox:
        """Create a sandbox. If `backend` is unset: v2, or v1 when v2 is unavailable."""
        return self._transport.json("POST", "/v1/sandboxes", body=body or {}, idempotent=True, options=options)

    def stream(self, *, after: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.NotificationsStreamReady], Event[Literal["sandbox"], types.SandboxesStreamSandbox]]]:
        """Changes of the account's sandboxes, live. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/sandboxes/stream", query={"after": after}, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Sandbox:
        """One sandbox."""
        return self._transport.json("GET", f"/v1/sandboxes/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.SandboxChange] = None, *, options: Optional[CallOptions] = None) -> types.Sandbox:
        """Change how long a sandbox lives from now, its labels, or its way out."""
        return self._transport.json("PATCH", f"/v1/sandboxes/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> types.Sandbox:
        """Destroy a sandbox with its workspace; a repeat answers the same."""
        return self._transport.json("DELETE", f"/v1/sandboxes/{quote(id, safe='')}", idempotent=True, options=options)

    def events(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SandboxesEventsAnswer:
        """What became of a sandbox, newest first."""
        return self._transport.json("GET", f"/v1/sandboxes/{quote(id, safe='')}/events", query={"limit": limit, "cursor": cursor}, options=options)

    def events_all(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.SandboxEvent]:
        """What became of a sandbox, newest first. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/sandboxes/{quote(id, safe='')}/events", query={"limit": limit, "cursor": cursor}, items="events", options=options)

    def exec(self, id: str, body: Optional[types.Command] = None, *, options: Optional[CallOptions] = None) -> types.ExecResult:
        """Run a command; with `Accept: text/event-stream` its output as it comes."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/exec", body=body or {}, idempotent=True, options=options)

    def exec_frames(self, id: str, body: Optional[types.Command] = None, *, options: Optional[CallOptions] = None) -> Iterator[types.ExecFrame]:
        """Run a command; with `Accept: text/event-stream` its output as it comes. Its frames as they come."""
        return self._transport.frames("POST", f"/v1/sandboxes/{quote(id, safe='')}/exec", body=body or {}, idempotent=True, options=options)

    def run(self, body: Optional[types.OneShot] = None, *, options: Optional[CallOptions] = None) -> types.RunResult:
        """One shot: create, run, collect /workspace/out, destroy."""
        return self._transport.json("POST", "/v1/sandboxes/run", body=body or {}, idempotent=True, options=options)

    def run_code(self, id: str, body: types.SandboxesRunCodeBody, *, options: Optional[CallOptions] = None) -> types.CodeResult:
        """Run a cell in the Python kernel, whose globals live on."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/run_code", body=body, idempotent=True, options=options)

    def reset_kernel(self, id: str, *, options: Optional[CallOptions] = None) -> types.SandboxesResetKernelAnswer:
        """Restart the Python kernel, also while a cell runs; files stay."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/kernel/reset", idempotent=True, options=options)

    def pause(self, id: str, body: Optional[types.SandboxesPauseBody] = None, *, options: Optional[CallOptions] = None) -> types.Sandbox:
        """Keep memory, processes and workspace in a snapshot, and stop; v2."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/pause", body=body or {}, idempotent=True, options=options)

    def resume(self, id: str, *, options: Optional[CallOptions] = None) -> types.ResumedSandbox:
        """Go on where a pause left off; `restored: false` is a cold start with the files intact."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/resume", idempotent=True, options=options)

    def fork(self, id: str, body: types.SandboxesForkBody, *, options: Optional[CallOptions] = None) -> types.SandboxesForkAnswer:
        """Make copies with memory, processes and workspace; the parent goes on; v2."""
        return self._transport.json("POST", f"/v1/sandboxes/{quote(id, safe='')}/fork", body=body, idempotent=True, options=options)


class Artifacts(Feature):
    """Operations of `artifacts`."""

    def download(self, id: str, *, expires: Optional[str] = None, signature: Optional[str] = None, options: Optional[CallOptions] = None) -> bytes:
        """The bytes behind a signed link, which is valid for 1 h; as an attachment."""
        return self._transport.bytes("GET", f"/v1/artifacts/{quote(id, safe='')}", query={"expires": expires, "signature": signature}, options=options)


class Usage(Feature):
    """Operations of `usage`."""

    def get(self, *, options: Optional[CallOptions] = None) -> types.Usage:
        """What the account uses of each quota; past its limit a creation answers `quota_exceeded`."""
        return self._transport.json("GET", "/v1/usage", options=options)

    def requests(self, *, from_: Optional[str] = None, to: Optional[str] = None, by: Optional[Literal["day", "feature", "key", "device"]] = None, options: Optional[CallOptions] = None) -> types.UsageRequestsAnswer:
        """Requests of the account in a span of time, by day, feature, key or device."""
        return self._transport.json("GET", "/v1/usage/requests", query={"from": from_, "to": to, "by": by}, options=options)


class Wallet(Feature):
    """Operations of `wallet`."""

    def get(self, *, options: Optional[CallOptions] = None) -> types.Wallet:
        """The account's prepaid balance."""
        return self._transport.json("GET", "/v1/wallet", options=options)

    def entries(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.WalletEntriesAnswer:
        """What came into the wallet and what was taken, newest first."""
        return self._transport.json("GET", "/v1/wallet/entries", query={"limit": limit, "cursor": cursor}, options=options)

    def entries_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.WalletEntry]:
        """What came into the wallet and what was taken, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/wallet/entries", query={"limit": limit, "cursor": cursor}, items="entries", options=options)


class Audit(Feature):
    """Operations of `audit`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, action: Optional[str] = None, subject: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None, options: Optional[CallOptions] = None) -> types.Acts:
        """The account's audit log, newest first."""
        return self._transport.json("GET", "/v1/audit", query={"limit": limit, "cursor": cursor, "action": action, "subject": subject, "since": since, "until": until}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, action: Optional[str] = None, subject: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Act]:
        """The account's audit log, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/audit", query={"limit": limit, "cursor": cursor, "action": action, "subject": subject, "since": since, "until": until}, items="acts", options=options)


class Chat(Feature):
    """Operations of `chat`."""

    def completions(self, body: types.ChatCompletionsBody, *, options: Optional[CallOptions] = None) -> types.ChatCompletion:
        """Ask a model, as OpenAI’s chat completions."""
        return self._transport.json("POST", "/v1/chat/completions", body=body, options=options)

    def completions_frames(self, body: types.ChatCompletionsBody, *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """Ask a model, as OpenAI’s chat completions. Its frames as they come."""
        return self._transport.frames("POST", "/v1/chat/completions", body=body, options=options)


class Messages(Feature):
    """Operations of `messages`."""

    def create(self, body: types.MessagesCreateBody, *, options: Optional[CallOptions] = None) -> types.AnthropicMessage:
        """Ask a model, as Anthropic’s messages."""
        return self._transport.json("POST", "/v1/messages", body=body, options=options)

    def create_frames(self, body: types.MessagesCreateBody, *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """Ask a model, as Anthropic’s messages. Its frames as they come."""
        return self._transport.frames("POST", "/v1/messages", body=body, options=options)

    def count_tokens(self, body: types.MessagesCountTokensBody, *, options: Optional[CallOptions] = None) -> types.TokenCount:
        """How many tokens a request of messages sends."""
        return self._transport.json("POST", "/v1/messages/count_tokens", body=body, options=options)

    def count_tokens_frames(self, body: types.MessagesCountTokensBody, *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """How many tokens a request of messages sends. Its frames as they come."""
        return self._transport.frames("POST", "/v1/messages/count_tokens", body=body, options=options)


class Responses(Feature):
    """Operations of `responses`."""

    def create(self, body: types.ResponsesCreateBody, *, options: Optional[CallOptions] = None) -> types.ModelResponse:
        """Ask a model, as OpenAI’s responses."""
        return self._transport.json("POST", "/v1/responses", body=body, options=options)

    def create_frames(self, body: types.ResponsesCreateBody, *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """Ask a model, as OpenAI’s responses. Its frames as they come."""
        return self._transport.frames("POST", "/v1/responses", body=body, options=options)


class Embeddings(Feature):
    """Operations of `embeddings`."""

    def create(self, body: types.EmbeddingsCreateBody, *, options: Optional[CallOptions] = None) -> types.Embeddings:
        """Turn text into vectors, as OpenAI’s embeddings."""
        return self._transport.json("POST", "/v1/embeddings", body=body, options=options)

    def create_frames(self, body: types.EmbeddingsCreateBody, *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """Turn text into vectors, as OpenAI’s embeddings. Its frames as they come."""
        return self._transport.frames("POST", "/v1/embeddings", body=body, options=options)


class Models(Feature):
    """Operations of `models`."""

    def list(self, *, options: Optional[CallOptions] = None) -> types.ModelsListAnswer:
        """The models and aliases that the key may use."""
        return self._transport.json("GET", "/v1/models", options=options)

    def get(self, name: str, *, options: Optional[CallOptions] = None) -> types.Model:
        """A model or alias that the key may use."""
        return self._transport.json("GET", f"/v1/models/{quote(name, safe='')}", options=options)


class Receipt(Feature):
    """Operations of `receipt`."""

    def get(self, *, trace_id: str, options: Optional[CallOptions] = None) -> types.ModelReceipt:
        """What a finished request to a model cost."""
        return self._transport.json("GET", "/v1/receipt", query={"trace_id": trace_id}, options=options)


class Audio(Feature):
    """Operations of `audio`."""

    def transcriptions(self, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> types.AudioText:
        """Turn speech into text, as OpenAI’s transcriptions: a form with `file` and `model`."""
        return self._transport.json("POST", "/v1/audio/transcriptions", data=body, options=options)

    def transcriptions_frames(self, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """Turn speech into text, as OpenAI’s transcriptions: a form with `file` and `model`. Its frames as they come."""
        return self._transport.frames("POST", "/v1/audio/transcriptions", data=body, options=options)

    def translations(self, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> types.AudioText:
        """Turn speech into English text, as OpenAI’s translations: a form with `file` and `model`."""
        return self._transport.json("POST", "/v1/audio/translations", data=body, options=options)

    def translations_frames(self, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """Turn speech into English text, as OpenAI’s translations: a form with `file` and `model`. Its frames as they come."""
        return self._transport.frames("POST", "/v1/audio/translations", data=body, options=options)

    def speech(self, body: types.AudioSpeechBody, *, options: Optional[CallOptions] = None) -> bytes:
        """Turn text into speech, as OpenAI’s speech."""
        return self._transport.bytes("POST", "/v1/audio/speech", body=body, options=options)


class Tokens(Feature):
    """Operations of `tokens`."""

    def create(self, body: types.TokensCreateBody, *, options: Optional[CallOptions] = None) -> types.MediaToken:
        """A token for one kind of media route, that lives for minutes and dies with its key."""
        return self._transport.json("POST", "/v1/tokens", body=body, options=options)


class Sessions(Feature):
    """Operations of `sessions`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.SessionsListAnswer:
        """The account's sessions, newest first."""
        return self._transport.json("GET", "/v1/sessions", query={"limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Session]:
        """The account's sessions, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/sessions", query={"limit": limit, "cursor": cursor}, items="sessions", options=options)

    def create(self, body: Optional[types.SessionsCreateBody] = None, *, options: Optional[CallOptions] = None) -> types.Session:
        """Begin a session."""
        return self._transport.json("POST", "/v1/sessions", body=body or {}, idempotent=True, options=options)

    def stream(self, *, options: Optional[CallOptions] = None) -> Iterator[Event[Literal["control"], types.SessionControl]]:
        """What other devices ask the calling one for: what it has not acknowledged, then what comes. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/sessions/stream", options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Session:
        """One session."""
        return self._transport.json("GET", f"/v1/sessions/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.SessionsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.Session:
        """Change title or metadata of a session."""
        return self._transport.json("PATCH", f"/v1/sessions/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> types.SessionsRemoveAnswer:
        """Delete a session with its events and controls."""
        return self._transport.json("DELETE", f"/v1/sessions/{quote(id, safe='')}", options=options)

    def take_lease(self, id: str, *, options: Optional[CallOptions] = None) -> types.SessionsTakeLeaseAnswer:
        """Take the right to write for 30 s, or renew it."""
        return self._transport.json("POST", f"/v1/sessions/{quote(id, safe='')}/lease", options=options)

    def drop_lease(self, id: str, *, options: Optional[CallOptions] = None) -> types.SessionsDropLeaseAnswer:
        """Give the right to write back."""
        return self._transport.json("DELETE", f"/v1/sessions/{quote(id, safe='')}/lease", options=options)

    def append(self, id: str, body: types.SessionsAppendBody, *, options: Optional[CallOptions] = None) -> types.SessionsAppendAnswer:
        """Append events behind the last one that the caller knows."""
        return self._transport.json("POST", f"/v1/sessions/{quote(id, safe='')}/events", body=body, options=options)

    def events(self, id: str, *, after: Optional[int] = None, limit: Optional[int] = None, options: Optional[CallOptions] = None) -> types.SessionsEventsAnswer:
        """Events of a session, oldest first."""
        return self._transport.json("GET", f"/v1/sessions/{quote(id, safe='')}/events", query={"after": after, "limit": limit}, options=options)

    def follow(self, id: str, *, after: Optional[int] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["event"], types.SessionEvent], Event[Literal["control"], types.SessionControl], Event[Literal["lease"], types.SessionsFollowLease]]]:
        """Events of a session, those that are stored and then those that come. Yields until the stream is closed."""
        return self._transport.events("GET", f"/v1/sessions/{quote(id, safe='')}/stream", query={"after": after}, options=options)

    def send_control(self, id: str, body: types.SessionsSendControlBody, *, options: Optional[CallOptions] = None) -> types.SessionControl:
        """Ask a device to send a prompt, to stop, or for something that its client knows."""
        return self._transport.json("POST", f"/v1/sessions/{quote(id, safe='')}/controls", body=body, idempotent=True, options=options)

    def withdraw_control(self, id: str, control_id: str, *, options: Optional[CallOptions] = None) -> types.SessionControl:
        """Take a control back: what its device has not begun, it does not begin."""
        return self._transport.json("DELETE", f"/v1/sessions/{quote(id, safe='')}/controls/{quote(control_id, safe='')}", options=options)

    def ack_control(self, id: str, control_id: str, *, options: Optional[CallOptions] = None) -> types.SessionControl:
        """Say that the calling device took a control; it is not delivered again."""
        return self._transport.json("POST", f"/v1/sessions/{quote(id, safe='')}/controls/{quote(control_id, safe='')}/ack", options=options)

    def transcript(self, id: str, *, options: Optional[CallOptions] = None) -> str:
        """What was said in a session, as plain text."""
        return self._transport.text("GET", f"/v1/sessions/{quote(id, safe='')}/transcript", options=options)


class Prompts(Feature):
    """Operations of `prompts`."""

    def list(self, *, status: Optional[Literal["open", "launched", "sent", "answered", "verified", "done", "dismissed", "superseded", "active", "due", "all"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.PromptsListAnswer:
        """The account's prompts, newest first."""
        return self._transport.json("GET", "/v1/prompts", query={"status": status, "limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, status: Optional[Literal["open", "launched", "sent", "answered", "verified", "done", "dismissed", "superseded", "active", "due", "all"]] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Prompt]:
        """The account's prompts, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/prompts", query={"status": status, "limit": limit, "cursor": cursor}, items="prompts", options=options)

    def create(self, body: types.PromptsCreateBody, *, options: Optional[CallOptions] = None) -> types.PromptsCreateAnswer:
        """Keep a prompt for later; one that is kept already answers 200 with `created: false`."""
        return self._transport.json("POST", "/v1/prompts", body=body, idempotent=True, options=options)

    def stream(self, *, after: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.NotificationsStreamReady], Event[Literal["prompt"], types.PromptsStreamPrompt]]]:
        """Changes of the account's prompts. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/prompts/stream", query={"after": after}, options=options)

    def verify_all(self, body: Optional[types.PromptsVerifyAllBody] = None, *, options: Optional[CallOptions] = None) -> types.PromptsVerifyAllAnswer:
        """Judge every active prompt that has a session, or those in `ids`."""
        return self._transport.json("POST", "/v1/prompts/verify", body=body or {}, idempotent=True, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.PromptsGetAnswer:
        """One prompt."""
        return self._transport.json("GET", f"/v1/prompts/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.PromptsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.PromptsUpdateAnswer:
        """Snooze a prompt, mark it done or dismissed, or change how it will be launched."""
        return self._transport.json("PATCH", f"/v1/prompts/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, stop: Optional[Literal["true", "false"]] = None, options: Optional[CallOptions] = None) -> types.PromptsRemoveAnswer:
        """Delete a prompt; its text may be kept anew."""
        return self._transport.json("DELETE", f"/v1/prompts/{quote(id, safe='')}", query={"stop": stop}, options=options)

    def launch(self, id: str, body: Optional[types.PromptsLaunchBody] = None, *, options: Optional[CallOptions] = None) -> types.PromptsLaunchAnswer:
        """Open a session for a prompt and send it to a device."""
        return self._transport.json("POST", f"/v1/prompts/{quote(id, safe='')}/launch", body=body or {}, idempotent=True, options=options)

    def match(self, id: str, body: types.PromptsMatchBody, *, options: Optional[CallOptions] = None) -> types.PromptsMatchAnswer:
        """Say that a turn carries this prompt, where the platform could not see it."""
        return self._transport.json("POST", f"/v1/prompts/{quote(id, safe='')}/match", body=body, options=options)

    def verify(self, id: str, body: Optional[types.PromptsVerifyBody] = None, *, options: Optional[CallOptions] = None) -> types.PromptsVerifyAnswer:
        """Let a model judge by transcript, diff and files whether the work is done."""
        return self._transport.json("POST", f"/v1/prompts/{quote(id, safe='')}/verify", body=body or {}, idempotent=True, options=options)


class Tools(Feature):
    """Operations of `tools`."""

    def search(self, body: types.ToolsSearchBody, *, options: Optional[CallOptions] = None) -> types.SearchAnswer:
        """Search the web and the index; snippets stand on their pages."""
        return self._transport.json("POST", "/v1/tools/search", body=body, options=options)

    def fetch(self, body: types.ToolsFetchBody, *, options: Optional[CallOptions] = None) -> types.FetchedPage:
        """Fetch a public page and read its content."""
        return self._transport.json("POST", "/v1/tools/fetch", body=body, options=options)


class Uploads(Feature):
    """Operations of `uploads`."""

    def options(self, *, options: Optional[CallOptions] = None) -> None:
        """What this server knows of tus: version, extensions, largest upload, checksums."""
        return self._transport.nothing("OPTIONS", "/v1/uploads", options=options)

    def create(self, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> types.Upload:
        """Begins an upload; with a body its first piece."""
        return self._transport.json("POST", "/v1/uploads", data=body, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Upload:
        """How far an upload is; HEAD answers the same in headers, and never waits for a request that brings bytes."""
        return self._transport.json("GET", f"/v1/uploads/{quote(id, safe='')}", options=options)

    def append(self, id: str, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> None:
        """Adds a piece of at most 8 MiB at the offset where the upload is."""
        return self._transport.nothing("PATCH", f"/v1/uploads/{quote(id, safe='')}", data=body, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> None:
        """Deletes an upload and its bytes."""
        return self._transport.nothing("DELETE", f"/v1/uploads/{quote(id, safe='')}", options=options)

    def override(self, id: str, body: Union[bytes, str], *, options: Optional[CallOptions] = None) -> None:
        """PATCH, DELETE or HEAD, for clients that can send POST only."""
        return self._transport.nothing("POST", f"/v1/uploads/{quote(id, safe='')}", data=body, options=options)


class Transcripts(Feature):
    """Operations of `transcripts`."""

    def list(self, *, folder_id: Optional[str] = None, tag: Optional[str] = None, status: Optional[Literal["recording", "queued", "transcribing", "analyzing", "ready", "failed"]] = None, pinned: Optional[Literal["true", "false"]] = None, q: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.TranscriptsListAnswer:
        """The account's recordings, newest first, without what was said."""
        return self._transport.json("GET", "/v1/transcripts", query={"folder_id": folder_id, "tag": tag, "status": status, "pinned": pinned, "q": q, "limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, folder_id: Optional[str] = None, tag: Optional[str] = None, status: Optional[Literal["recording", "queued", "transcribing", "analyzing", "ready", "failed"]] = None, pinned: Optional[Literal["true", "false"]] = None, q: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.TranscriptSummary]:
        """The account's recordings, newest first, without what was said. Every item, page after page."""
        return self._transport.pages("GET", "/v1/transcripts", query={"folder_id": folder_id, "tag": tag, "status": status, "pinned": pinned, "q": q, "limit": limit, "cursor": cursor}, items="transcripts", options=options)

    def create(self, body: Optional[types.TranscriptsCreateBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsCreateAnswer:
        """Begin a recording; the same `client_id` answers the same transcript with 200."""
        return self._transport.json("POST", "/v1/transcripts", body=body or {}, idempotent=True, options=options)

    def usage(self, *, options: Optional[CallOptions] = None) -> types.TranscriptsUsageAnswer:
        """How much of the allowance of the month is used."""
        return self._transport.json("GET", "/v1/transcripts/usage", options=options)

    def stream(self, *, after: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.NotificationsStreamReady], Event[Literal["transcript"], types.TranscriptsStreamTranscript]]]:
        """Changes of the account's transcripts, and live captions. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/transcripts/stream", query={"after": after}, options=options)

    def search(self, *, q: str, mode: Optional[Literal["hybrid", "text", "semantic"]] = None, folder_id: Optional[str] = None, tag: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.TranscriptsSearchAnswer:
        """Utterances that have the words, a name like it, or the meaning."""
        return self._transport.json("GET", "/v1/transcripts/search", query={"q": q, "mode": mode, "folder_id": folder_id, "tag": tag, "from": from_, "to": to, "limit": limit, "cursor": cursor}, options=options)

    def search_all(self, *, q: str, mode: Optional[Literal["hybrid", "text", "semantic"]] = None, folder_id: Optional[str] = None, tag: Optional[str] = None, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.TranscriptsSearchAnswerResultsItem]:
        """Utterances that have the words, a name like it, or the meaning. Every item, page after page."""
        return self._transport.pages("GET", "/v1/transcripts/search", query={"q": q, "mode": mode, "folder_id": folder_id, "tag": tag, "from": from_, "to": to, "limit": limit, "cursor": cursor}, items="results", options=options)

    def ask(self, body: types.TranscriptsAskBody, *, options: Optional[CallOptions] = None) -> types.TranscriptsAskAnswer:
        """Ask a question across recordings."""
        return self._transport.json("POST", "/v1/transcripts/ask", body=body, idempotent=True, options=options)

    def words(self, id: str, *, from_ms: Optional[int] = None, to_ms: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.TranscriptsWordsAnswer:
        """Utterances of a span of time, with their words."""
        return self._transport.json("GET", f"/v1/transcripts/{quote(id, safe='')}/words", query={"from_ms": from_ms, "to_ms": to_ms, "cursor": cursor}, options=options)

    def words_all(self, id: str, *, from_ms: Optional[int] = None, to_ms: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Utterance]:
        """Utterances of a span of time, with their words. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/transcripts/{quote(id, safe='')}/words", query={"from_ms": from_ms, "to_ms": to_ms, "cursor": cursor}, items="utterances", options=options)

    def export(self, id: str, *, format: Optional[Literal["md", "txt", "srt", "vtt", "json", "pdf", "docx"]] = None, options: Optional[CallOptions] = None) -> bytes:
        """The transcript as a file."""
        return self._transport.bytes("GET", f"/v1/transcripts/{quote(id, safe='')}/export", query={"format": format}, options=options)

    def get(self, id: str, *, words: Optional[Literal["full", "none"]] = None, options: Optional[CallOptions] = None) -> types.TranscriptsGetAnswer:
        """One recording with what was said in it."""
        return self._transport.json("GET", f"/v1/transcripts/{quote(id, safe='')}", query={"words": words}, options=options)

    def update(self, id: str, body: Optional[types.TranscriptsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsUpdateAnswer:
        """Change title, language, folder, tags, pin or consent."""
        return self._transport.json("PATCH", f"/v1/transcripts/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsRemoveAnswer:
        """Delete a recording: text, insights, links and audio; what is under way ends."""
        return self._transport.json("DELETE", f"/v1/transcripts/{quote(id, safe='')}", options=options)

    def finalize(self, id: str, body: types.TranscriptsFinalizeBody, *, options: Optional[CallOptions] = None) -> types.TranscriptsFinalizeAnswer:
        """The recording is over: hand its uploads in to be transcribed."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/finalize", body=body, idempotent=True, options=options)

    def retranscribe(self, id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsRetranscribeAnswer:
        """Transcribe the audio anew; after a failure only what failed."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/retranscribe", idempotent=True, options=options)

    def reanalyze(self, id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsReanalyzeAnswer:
        """Write the insights anew."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/reanalyze", idempotent=True, options=options)

    def live(self, id: str, body: Optional[types.TranscriptsLiveBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsLiveAnswer:
        """A frame of rolling captions, for those who follow."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/live", body=body or {}, options=options)

    def bookmark(self, id: str, body: types.TranscriptsBookmarkBody, *, options: Optional[CallOptions] = None) -> types.TranscriptsBookmarkAnswer:
        """Mark a moment."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/bookmarks", body=body, idempotent=True, options=options)

    def remove_bookmark(self, id: str, bookmark_id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsRemoveBookmarkAnswer:
        """Take a mark away."""
        return self._transport.json("DELETE", f"/v1/transcripts/{quote(id, safe='')}/bookmarks/{quote(bookmark_id, safe='')}", options=options)

    def update_speaker(self, id: str, label: str, body: Optional[types.TranscriptsUpdateSpeakerBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsUpdateSpeakerAnswer:
        """Name a speaker, or mark the one who is the user; an existing name merges the two."""
        return self._transport.json("PATCH", f"/v1/transcripts/{quote(id, safe='')}/speakers/{quote(label, safe='')}", body=body or {}, options=options)

    def update_utterance(self, id: str, seq: str, body: Optional[types.TranscriptsUpdateUtteranceBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsUpdateUtteranceAnswer:
        """Correct what was said, or who said it."""
        return self._transport.json("PATCH", f"/v1/transcripts/{quote(id, safe='')}/utterances/{quote(seq, safe='')}", body=body or {}, options=options)

    def accept_prompt(self, id: str, index: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsAcceptPromptAnswer:
        """Keep a suggested prompt for later."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/prompts/{quote(index, safe='')}/accept", idempotent=True, options=options)

    def audio(self, id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsAudioAnswer:
        """Signed addresses of the tracks, valid for an hour."""
        return self._transport.json("GET", f"/v1/transcripts/{quote(id, safe='')}/audio", options=options)

    def play_audio(self, id: str, track: str, *, expires: Optional[str] = None, signature: Optional[str] = None, options: Optional[CallOptions] = None) -> bytes:
        """The sound behind a signed address, to be played in place."""
        return self._transport.bytes("GET", f"/v1/transcripts/{quote(id, safe='')}/audio/{quote(track, safe='')}", query={"expires": expires, "signature": signature}, options=options)

    def share(self, id: str, body: Optional[types.TranscriptsShareBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsShareAnswer:
        """Make a link by which anybody can read the transcript; its token is shown once."""
        return self._transport.json("POST", f"/v1/transcripts/{quote(id, safe='')}/shares", body=body or {}, idempotent=True, options=options)

    def list_shares(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.TranscriptsListSharesAnswer:
        """Links that are active, newest first."""
        return self._transport.json("GET", f"/v1/transcripts/{quote(id, safe='')}/shares", query={"limit": limit, "cursor": cursor}, options=options)

    def list_shares_all(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.TranscriptShare]:
        """Links that are active, newest first. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/transcripts/{quote(id, safe='')}/shares", query={"limit": limit, "cursor": cursor}, items="shares", options=options)

    def revoke_share(self, id: str, share_id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsRevokeShareAnswer:
        """Revoke a link at once."""
        return self._transport.json("DELETE", f"/v1/transcripts/{quote(id, safe='')}/shares/{quote(share_id, safe='')}", options=options)

    def public_transcript(self, token: str, *, options: Optional[CallOptions] = None) -> types.PublicTranscript:
        """A shared transcript, for anybody who has the link."""
        return self._transport.json("GET", f"/v1/public/transcripts/{quote(token, safe='')}", options=options)

    def list_folders(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.TranscriptsListFoldersAnswer:
        """Folders, by parent and position."""
        return self._transport.json("GET", "/v1/transcript-folders", query={"limit": limit, "cursor": cursor}, options=options)

    def list_folders_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.TranscriptFolder]:
        """Folders, by parent and position. Every item, page after page."""
        return self._transport.pages("GET", "/v1/transcript-folders", query={"limit": limit, "cursor": cursor}, items="folders", options=options)

    def create_folder(self, body: types.TranscriptsCreateFolderBody, *, options: Optional[CallOptions] = None) -> types.TranscriptsCreateFolderAnswer:
        """Make a folder."""
        return self._transport.json("POST", "/v1/transcript-folders", body=body, idempotent=True, options=options)

    def get_folder(self, id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsGetFolderAnswer:
        """One folder."""
        return self._transport.json("GET", f"/v1/transcript-folders/{quote(id, safe='')}", options=options)

    def update_folder(self, id: str, body: Optional[types.TranscriptsUpdateFolderBody] = None, *, options: Optional[CallOptions] = None) -> types.TranscriptsUpdateFolderAnswer:
        """Rename, colour or move a folder."""
        return self._transport.json("PATCH", f"/v1/transcript-folders/{quote(id, safe='')}", body=body or {}, options=options)

    def remove_folder(self, id: str, *, options: Optional[CallOptions] = None) -> types.TranscriptsRemoveFolderAnswer:
        """Delete a folder; its transcripts and its folders go on without it."""
        return self._transport.json("DELETE", f"/v1/transcript-folders/{quote(id, safe='')}", options=options)

    def vocabulary(self, *, options: Optional[CallOptions] = None) -> types.TranscriptsVocabularyAnswer:
        """Names and words of the account, for recordings to come."""
        return self._transport.json("GET", "/v1/transcript-vocabulary", options=options)

    def set_vocabulary(self, body: types.TranscriptsSetVocabularyBody, *, options: Optional[CallOptions] = None) -> types.TranscriptsSetVocabularyAnswer:
        """Replace them."""
        return self._transport.json("PUT", "/v1/transcript-vocabulary", body=body, options=options)


class Projects(Feature):
    """Operations of `projects`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.ProjectsListAnswer:
        """The caller's projects and those of their organisations, newest first."""
        return self._transport.json("GET", "/v1/projects", query={"limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Project]:
        """The caller's projects and those of their organisations, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/projects", query={"limit": limit, "cursor": cursor}, items="projects", options=options)

    def create(self, body: types.ProjectsCreateBody, *, options: Optional[CallOptions] = None) -> types.ProjectsCreateAnswer:
        """Make a project."""
        return self._transport.json("POST", "/v1/projects", body=body, idempotent=True, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.ProjectsGetAnswer:
        """One project, and those of its environments in which the caller has a role."""
        return self._transport.json("GET", f"/v1/projects/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.ProjectsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.ProjectsUpdateAnswer:
        """Change a project; its owner, or an owner or admin of its organisation."""
        return self._transport.json("PATCH", f"/v1/projects/{quote(id, safe='')}", body=body or {}, options=options)

    def remove(self, id: str, *, options: Optional[CallOptions] = None) -> types.ProjectsRemoveAnswer:
        """Delete a project whose environments are all destroyed."""
        return self._transport.json("DELETE", f"/v1/projects/{quote(id, safe='')}", options=options)


class Environments(Feature):
    """Operations of `environments`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, project_id: Optional[str] = None, for_user_id: Optional[Literal["me"]] = None, options: Optional[CallOptions] = None) -> types.EnvironmentsListAnswer:
        """Environments in which the caller has a role, newest first."""
        return self._transport.json("GET", "/v1/environments", query={"limit": limit, "cursor": cursor, "project_id": project_id, "for_user_id": for_user_id}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, project_id: Optional[str] = None, for_user_id: Optional[Literal["me"]] = None, options: Optional[CallOptions] = None) -> Iterator[types.Environment]:
        """Environments in which the caller has a role, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/environments", query={"limit": limit, "cursor": cursor, "project_id": project_id, "for_user_id": for_user_id}, items="environments", options=options)

    def create(self, body: types.EnvironmentsCreateBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsCreateAnswer:
        """Make an environment: a machine of your own to be enrolled, or one at a provider."""
        return self._transport.json("POST", "/v1/environments", body=body, idempotent=True, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsGetAnswer:
        """One environment with its members, its published ports and its last 20 events."""
        return self._transport.json("GET", f"/v1/environments/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.EnvironmentsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.EnvironmentsUpdateAnswer:
        """Change its name or when it counts as idle; maintainers."""
        return self._transport.json("PATCH", f"/v1/environments/{quote(id, safe='')}", body=body or {}, options=options)

    def start(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsStartAnswer:
        """Start a machine at a provider; maintainers."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/start", idempotent=True, options=options)

    def stop(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsStopAnswer:
        """Stop a machine at a provider; maintainers."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/stop", idempotent=True, options=options)

    def archive(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsArchiveAnswer:
        """Put it aside: members, ports and secrets stay; maintainers."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/archive", idempotent=True, options=options)

    def destroy(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsDestroyAnswer:
        """End it for good, with its secrets; owners."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/destroy", idempotent=True, options=options)

    def events(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.EnvironmentsEventsAnswer:
        """What happened to it, newest first."""
        return self._transport.json("GET", f"/v1/environments/{quote(id, safe='')}/events", query={"limit": limit, "cursor": cursor}, options=options)

    def events_all(self, id: str, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.EnvironmentsGetAnswerEventsItem]:
        """What happened to it, newest first. Every item, page after page."""
        return self._transport.pages("GET", f"/v1/environments/{quote(id, safe='')}/events", query={"limit": limit, "cursor": cursor}, items="events", options=options)

    def enroll_token(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsEnrollTokenAnswer:
        """A token for one enrolment within 30 minutes, in place of the one before; maintainers."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/enroll-token", idempotent=True, options=options)

    def enroll(self, body: types.EnvironmentsEnrollBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsEnrollAnswer:
        """Enrol a machine with a token; its daemon calls this."""
        return self._transport.json("POST", "/v1/environments/enroll", body=body, options=options)

    def list_members(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsListMembersAnswer:
        """Members of an environment and who is invited, 200 at most."""
        return self._transport.json("GET", f"/v1/environments/{quote(id, safe='')}/members", options=options)

    def add_member(self, id: str, body: types.EnvironmentsAddMemberBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsAddMemberAnswer:
        """Invite somebody to a role; maintainers, and owners for the role of an owner."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/members", body=body, idempotent=True, options=options)

    def list_invitations(self, *, options: Optional[CallOptions] = None) -> types.EnvironmentsListInvitationsAnswer:
        """Invitations of the caller, newest first, 100 at most."""
        return self._transport.json("GET", "/v1/environments/invitations", options=options)

    def accept_invitation(self, id: str, body: Optional[types.EnvironmentsAcceptInvitationBody] = None, *, options: Optional[CallOptions] = None) -> types.EnvironmentsAcceptInvitationAnswer:
        """Accept an invitation: the caller is a member from now on."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/members/me/accept", body=body or {}, options=options)

    def set_ssh_key(self, id: str, body: types.EnvironmentsSetSshKeyBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsSetSshKeyAnswer:
        """The SSH key with which the caller comes in; developers."""
        return self._transport.json("PUT", f"/v1/environments/{quote(id, safe='')}/members/me/ssh-key", body=body, options=options)

    def update_member(self, id: str, user_id: str, body: types.EnvironmentsUpdateMemberBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsUpdateMemberAnswer:
        """Change the role of a member; maintainers, and owners where an owner is concerned."""
        return self._transport.json("PATCH", f"/v1/environments/{quote(id, safe='')}/members/{quote(user_id, safe='')}", body=body, options=options)

    def remove_member(self, id: str, user_id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsRemoveMemberAnswer:
        """Take a member out or an invitation back; maintainers, and everybody for themselves: leave, or decline."""
        return self._transport.json("DELETE", f"/v1/environments/{quote(id, safe='')}/members/{quote(user_id, safe='')}", options=options)

    def list_ports(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsListPortsAnswer:
        """Published ports of an environment, 200 at most."""
        return self._transport.json("GET", f"/v1/environments/{quote(id, safe='')}/ports", options=options)

    def publish_port(self, id: str, port: str, body: types.EnvironmentsPublishPortBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsPublishPortAnswer:
        """Publish a port, or change who reaches it; developers, and maintainers for `public`."""
        return self._transport.json("PUT", f"/v1/environments/{quote(id, safe='')}/ports/{quote(port, safe='')}", body=body, options=options)

    def remove_port(self, id: str, port: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsRemovePortAnswer:
        """Publish a port no more; developers."""
        return self._transport.json("DELETE", f"/v1/environments/{quote(id, safe='')}/ports/{quote(port, safe='')}", options=options)

    def link_port(self, id: str, port: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsLinkPortAnswer:
        """The address of a published port for a browser: it has a ticket for one visit within 60 s."""
        return self._transport.json("POST", f"/v1/environments/{quote(id, safe='')}/ports/{quote(port, safe='')}/link", options=options)

    def list_secrets(self, id: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsListSecretsAnswer:
        """Names of secrets, 200 at most; developers."""
        return self._transport.json("GET", f"/v1/environments/{quote(id, safe='')}/secrets", options=options)

    def set_secret(self, id: str, name: str, body: types.EnvironmentsSetSecretBody, *, options: Optional[CallOptions] = None) -> types.EnvironmentsSetSecretAnswer:
        """Keep a secret, or replace it; it is never answered again. Maintainers."""
        return self._transport.json("PUT", f"/v1/environments/{quote(id, safe='')}/secrets/{quote(name, safe='')}", body=body, options=options)

    def remove_secret(self, id: str, name: str, *, options: Optional[CallOptions] = None) -> types.EnvironmentsRemoveSecretAnswer:
        """Delete a secret; maintainers."""
        return self._transport.json("DELETE", f"/v1/environments/{quote(id, safe='')}/secrets/{quote(name, safe='')}", options=options)


class Relay(Feature):
    """Operations of `relay`."""

    def status(self, id: str, *, options: Optional[CallOptions] = None) -> types.RelayStatus:
        """Its machine as it is now: whether it is there, its listeners, git state, locks and clients."""
        return self._transport.json("GET", f"/relay/v1/environments/{quote(id, safe='')}/status", options=options)


class Mcp(Feature):
    """Operations of `mcp`."""

    def call(self, body: Optional[Any] = None, *, options: Optional[CallOptions] = None) -> types.McpMessage:
        """A message of the Model Context Protocol."""
        return self._transport.json("POST", "/mcp", body=body or {}, options=options)

    def call_frames(self, body: Optional[Any] = None, *, options: Optional[CallOptions] = None) -> Iterator[str]:
        """A message of the Model Context Protocol. Its frames as they come."""
        return self._transport.frames("POST", "/mcp", body=body or {}, options=options)


class Connections(Feature):
    """Operations of `connections`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.ConnectionsListAnswer:
        """Apps that may act for the account, newest first."""
        return self._transport.json("GET", "/v1/connections", query={"limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Connection]:
        """Apps that may act for the account, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/connections", query={"limit": limit, "cursor": cursor}, items="connections", options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.ConnectionsGetAnswer:
        """One app that may act for the account."""
        return self._transport.json("GET", f"/v1/connections/{quote(id, safe='')}", options=options)

    def disconnect(self, id: str, *, options: Optional[CallOptions] = None) -> types.ConnectionsDisconnectAnswer:
        """End an app’s access: its tokens and keys are refused on the next request, and what it let in is taken back."""
        return self._transport.json("DELETE", f"/v1/connections/{quote(id, safe='')}", options=options)


class Me(Feature):
    """Operations of `me`."""

    def get(self, *, options: Optional[CallOptions] = None) -> types.Me:
        """Who calls, with which rights, and their account."""
        return self._transport.json("GET", "/v1/me", options=options)

    def update(self, body: Optional[types.MeUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.Me:
        """Change one's name, e-mail address, language or time zone."""
        return self._transport.json("PATCH", "/v1/me", body=body or {}, options=options)

    def remove(self, *, options: Optional[CallOptions] = None) -> types.MeRemoveAnswer:
        """Delete one's account with everything in it, for good."""
        return self._transport.json("DELETE", "/v1/me", options=options)

    def reauth_options(self, *, options: Optional[CallOptions] = None) -> Dict[str, Any]:
        """What a browser needs to ask for a passkey of the caller."""
        return self._transport.json("POST", "/v1/me/reauth/options", options=options)

    def reauth(self, body: Optional[types.MeReauthBody] = None, *, options: Optional[CallOptions] = None) -> types.MeReauthAnswer:
        """Prove anew who one is, by password or passkey."""
        return self._transport.json("POST", "/v1/me/reauth", body=body or {}, options=options)

    def set_password(self, body: types.MeSetPasswordBody, *, options: Optional[CallOptions] = None) -> types.MeSetPasswordAnswer:
        """Set one's password, or another one."""
        return self._transport.json("PUT", "/v1/me/password", body=body, options=options)

    def remove_password(self, *, options: Optional[CallOptions] = None) -> types.MeRemovePasswordAnswer:
        """Remove one's password, so that passkeys alone sign in."""
        return self._transport.json("DELETE", "/v1/me/password", options=options)

    def list_passkeys(self, *, options: Optional[CallOptions] = None) -> types.MeListPasskeysAnswer:
        """One's passkeys, oldest first; 20 at most."""
        return self._transport.json("GET", "/v1/me/passkeys", options=options)

    def add_passkey(self, body: types.MeAddPasskeyBody, *, options: Optional[CallOptions] = None) -> types.Passkey:
        """Keep a passkey that the browser made."""
        return self._transport.json("POST", "/v1/me/passkeys", body=body, options=options)

    def passkey_options(self, *, options: Optional[CallOptions] = None) -> Dict[str, Any]:
        """What a browser needs to make a passkey for the caller."""
        return self._transport.json("POST", "/v1/me/passkeys/options", options=options)

    def update_passkey(self, id: str, body: types.MeUpdatePasskeyBody, *, options: Optional[CallOptions] = None) -> types.Passkey:
        """Rename a passkey."""
        return self._transport.json("PATCH", f"/v1/me/passkeys/{quote(id, safe='')}", body=body, options=options)

    def remove_passkey(self, id: str, *, options: Optional[CallOptions] = None) -> types.MeRemovePasskeyAnswer:
        """Remove a passkey: it signs nobody in any more."""
        return self._transport.json("DELETE", f"/v1/me/passkeys/{quote(id, safe='')}", options=options)

    def make_recovery_codes(self, *, options: Optional[CallOptions] = None) -> types.MeMakeRecoveryCodesAnswer:
        """Make ten recovery codes in the place of all that there were."""
        return self._transport.json("POST", "/v1/me/recovery-codes", idempotent=True, options=options)

    def list_logins(self, *, options: Optional[CallOptions] = None) -> types.MeListLoginsAnswer:
        """One's signed-in browsers, the one used last first; 50 at most."""
        return self._transport.json("GET", "/v1/me/logins", options=options)

    def end_logins(self, *, options: Optional[CallOptions] = None) -> types.MeEndLoginsAnswer:
        """Sign out everywhere else."""
        return self._transport.json("DELETE", "/v1/me/logins", options=options)

    def end_login(self, id: str, *, options: Optional[CallOptions] = None) -> types.MeEndLoginAnswer:
        """Sign a browser out, at once on every gateway."""
        return self._transport.json("DELETE", f"/v1/me/logins/{quote(id, safe='')}", options=options)

    def create_link(self, *, options: Optional[CallOptions] = None) -> types.MeCreateLinkAnswer:
        """Make a link that signs a phone in, for five minutes."""
        return self._transport.json("POST", "/v1/me/links", idempotent=True, options=options)

    def get_link(self, id: str, *, options: Optional[CallOptions] = None) -> types.MeGetLinkAnswer:
        """How far a phone is that is to be signed in."""
        return self._transport.json("GET", f"/v1/me/links/{quote(id, safe='')}", options=options)

    def confirm_link(self, id: str, body: types.MeConfirmLinkBody, *, options: Optional[CallOptions] = None) -> types.MeConfirmLinkAnswer:
        """Pick the number that the phone shows."""
        return self._transport.json("POST", f"/v1/me/links/{quote(id, safe='')}/confirm", body=body, options=options)


class Accounts(Feature):
    """Operations of `accounts`."""

    def list(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> types.AccountsListAnswer:
        """Accounts of this installation, newest first."""
        return self._transport.json("GET", "/v1/accounts", query={"limit": limit, "cursor": cursor}, options=options)

    def list_all(self, *, limit: Optional[int] = None, cursor: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[types.Account]:
        """Accounts of this installation, newest first. Every item, page after page."""
        return self._transport.pages("GET", "/v1/accounts", query={"limit": limit, "cursor": cursor}, items="accounts", options=options)

    def create(self, body: types.AccountsCreateBody, *, options: Optional[CallOptions] = None) -> types.AccountsCreateAnswer:
        """Create an account and a link with which its person chooses how to sign in."""
        return self._transport.json("POST", "/v1/accounts", body=body, idempotent=True, options=options)

    def get(self, id: str, *, options: Optional[CallOptions] = None) -> types.Account:
        """One account of this installation."""
        return self._transport.json("GET", f"/v1/accounts/{quote(id, safe='')}", options=options)

    def update(self, id: str, body: Optional[types.AccountsUpdateBody] = None, *, options: Optional[CallOptions] = None) -> types.Account:
        """Suspend an account, let it go on, change its tool level, or make its person an operator."""
        return self._transport.json("PATCH", f"/v1/accounts/{quote(id, safe='')}", body=body or {}, options=options)

    def link(self, id: str, *, options: Optional[CallOptions] = None) -> types.AccountsLinkAnswer:
        """Make a link with which a person gets in, or back in."""
        return self._transport.json("POST", f"/v1/accounts/{quote(id, safe='')}/link", idempotent=True, options=options)

    def sign_out(self, id: str, *, options: Optional[CallOptions] = None) -> types.AccountsSignOutAnswer:
        """Sign an account out of every browser, at once on every gateway."""
        return self._transport.json("DELETE", f"/v1/accounts/{quote(id, safe='')}/logins", options=options)


class System(Feature):
    """Operations of `system`."""

    def get(self, *, options: Optional[CallOptions] = None) -> types.System:
        """How this installation does, and how to mend what is wrong."""
        return self._transport.json("GET", "/v1/system", options=options)

    def backups(self, *, options: Optional[CallOptions] = None) -> types.Backups:
        """What became of the backups that the platform makes by itself."""
        return self._transport.json("GET", "/v1/system/backups", options=options)

    def back_up(self, *, options: Optional[CallOptions] = None) -> types.SystemBackUpAnswer:
        """Make a backup now, where the platform makes them; `begins` is false where it makes none."""
        return self._transport.json("POST", "/v1/system/backups", options=options)

    def set_backup_place(self, body: types.SystemSetBackupPlaceBody, *, options: Optional[CallOptions] = None) -> types.SystemSetBackupPlaceAnswer:
        """Choose where the platform puts backups by itself: a folder or a bucket, which is tried at once."""
        return self._transport.json("PUT", "/v1/system/backups/place", body=body, options=options)

    def remove_backup_place(self, *, options: Optional[CallOptions] = None) -> types.SystemRemoveBackupPlaceAnswer:
        """End backups by the platform itself, where an operator chose the place; what was made stays there."""
        return self._transport.json("DELETE", "/v1/system/backups/place", options=options)

    def list_backups(self, *, options: Optional[CallOptions] = None) -> types.SystemListBackupsAnswer:
        """The backups that are kept, the newest first."""
        return self._transport.json("GET", "/v1/system/backups/files", options=options)

    def read_backup(self, name: str, *, options: Optional[CallOptions] = None) -> bytes:
        """A backup as a file; all that accounts stored is in it."""
        return self._transport.bytes("GET", f"/v1/system/backups/files/{quote(name, safe='/')}", options=options)


class Events(Feature):
    """Operations of `events`."""

    def list(self, *, after: Optional[str] = None, topics: Optional[str] = None, limit: Optional[int] = None, wait_s: Optional[int] = None, options: Optional[CallOptions] = None) -> types.EventsListAnswer:
        """Changes of the account after a cursor, oldest first; waits for one when there is none."""
        return self._transport.json("GET", "/v1/events", query={"after": after, "topics": topics, "limit": limit, "wait_s": wait_s}, options=options)

    def stream(self, *, after: Optional[str] = None, topics: Optional[str] = None, options: Optional[CallOptions] = None) -> Iterator[Union[Event[Literal["ready"], types.EventsStreamReady], Event[Literal["change"], types.Change]]]:
        """Changes of the account after a cursor, and as they come. Yields until the stream is closed."""
        return self._transport.events("GET", "/v1/events/stream", query={"after": after, "topics": topics}, options=options)


class Overview(Feature):
    """Operations of `overview`."""

    def get(self, *, options: Optional[CallOptions] = None) -> types.OverviewGetAnswer:
        """What needs a person, worst first, with what mends it; counts, what runs next and what ran last."""
        return self._transport.json("GET", "/v1/overview", options=options)

    def find(self, *, q: str, kinds: Optional[str] = None, limit: Optional[int] = None, options: Optional[CallOptions] = None) -> types.OverviewFindAnswer:
        """Records whose name has a text, those that begin with it first."""
        return self._transport.json("GET", "/v1/overview/find", query={"q": q, "kinds": kinds, "limit": limit}, options=options)


class Operations:
    """Every operation of the API, by feature."""

    def __init__(self, transport: Any) -> None:
        self.health = Health(transport)
        self.keys = Keys(transport)
        self.devices = Devices(transport)
        self.machines = Machines(transport)
        self.hosts = Hosts(transport)
        self.notifications = Notifications(transport)
        self.heartbeats = Heartbeats(transport)
        self.schedules = Schedules(transport)
        self.scheduler = Scheduler(transport)
        self.sandboxes = Sandboxes(transport)
        self.artifacts = Artifacts(transport)
        self.usage = Usage(transport)
        self.wallet = Wallet(transport)
        self.audit = Audit(transport)
        self.chat = Chat(transport)
        self.messages = Messages(transport)
        self.responses = Responses(transport)
        self.embeddings = Embeddings(transport)
        self.models = Models(transport)
        self.receipt = Receipt(transport)
        self.audio = Audio(transport)
        self.tokens = Tokens(transport)
        self.sessions = Sessions(transport)
        self.prompts = Prompts(transport)
        self.tools = Tools(transport)
        self.uploads = Uploads(transport)
        self.transcripts = Transcripts(transport)
        self.projects = Projects(transport)
        self.environments = Environments(transport)
        self.relay = Relay(transport)
        self.mcp = Mcp(transport)
        self.connections = Connections(transport)
        self.me = Me(transport)
        self.accounts = Accounts(transport)
        self.system = System(transport)
        self.events = Events(transport)
        self.overview = Overview(transport)
