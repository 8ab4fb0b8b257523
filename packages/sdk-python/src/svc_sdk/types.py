"""What is sent and answered."""

# Written from the OpenAPI document by `npm run generate`; changes here are lost.

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired
elif sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    NotRequired = Optional

Account = TypedDict("Account", {"id": "str", "email": "str", "name": "str", "operator": "bool", "suspended": "bool", "subscription": "Literal[\"active\", \"inactive\"]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "created_at": "str", "last_seen_at": "NotRequired[str]"})

Act = TypedDict("Act", {"id": "str", "at": "str", "who": "Literal[\"key\", \"login\", \"cli\", \"system\"]", "key": "NotRequired[ActKey]", "login_id": "NotRequired[str]", "account": "NotRequired[ActAccount]", "address": "NotRequired[str]", "action": "str", "subject": "NotRequired[str]", "details": "Dict[str, Any]", "trace_id": "NotRequired[str]"})

ActKey = TypedDict("ActKey", {"id": "str", "name": "NotRequired[str]", "prefix": "NotRequired[str]"})

ActAccount = TypedDict("ActAccount", {"id": "str", "email": "NotRequired[str]"})

Action = TypedDict("Action", {"id": "Literal[\"approve\", \"skip\", \"cancel\", \"rerun\", \"pause\", \"resume\", \"read\", \"archive\", \"open\"]", "method": "Literal[\"GET\", \"POST\", \"PATCH\"]", "path": "str", "body": "NotRequired[Dict[str, Union[str, bool]]]", "reauth": "NotRequired[bool]"})

Acts = TypedDict("Acts", {"acts": "List[Act]", "next_cursor": "NotRequired[str]"})

AnthropicMessage = TypedDict("AnthropicMessage", {"id": "str", "type": "str", "role": "str", "model": "str", "content": "List[AnthropicMessageContentItem]", "stop_reason": "Union[str, None]"})

AnthropicMessageContentItem = TypedDict("AnthropicMessageContentItem", {})

Artifact = TypedDict("Artifact", {"id": "str", "path": "str", "bytes": "int", "mime": "str", "sha256": "str", "scan": "Literal[\"clean\", \"infected\", \"error\"]", "url": "NotRequired[str]", "expires_at": "str"})

AudioText = TypedDict("AudioText", {"text": "str"})

Backups = TypedDict("Backups", {"place": "NotRequired[str]", "set_by": "NotRequired[Literal[\"settings\", \"hub\"]]", "s3": "NotRequired[BackupsS3]", "own_server": "bool", "every_s": "int", "keep": "int", "sealed": "bool", "newest": "NotRequired[BackupsNewest]", "begun_at": "NotRequired[str]", "next_at": "NotRequired[str]", "failed": "NotRequired[BackupsFailed]"})

BackupsS3 = TypedDict("BackupsS3", {"endpoint": "NotRequired[str]", "region": "str", "access_key_id": "NotRequired[str]"})

BackupsNewest = TypedDict("BackupsNewest", {"name": "str", "bytes": "int", "at": "str"})

BackupsFailed = TypedDict("BackupsFailed", {"since": "str", "reason": "str", "fix": "str"})

Badge = TypedDict("Badge", {"heartbeat_id": "NotRequired[str]", "created_at": "str"})

BadgeEndpoint = TypedDict("BadgeEndpoint", {"schemaVersion": "Literal[1]", "label": "str", "message": "Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]", "color": "Literal[\"brightgreen\", \"orange\", \"red\", \"lightgrey\"]"})

Bookmark = TypedDict("Bookmark", {"id": "str", "at_ms": "int", "note": "Union[str, None]", "created_at": "str"})

ChatCompletion = TypedDict("ChatCompletion", {"id": "str", "model": "str", "choices": "List[ChatCompletionChoicesItem]"})

ChatCompletionChoicesItem = TypedDict("ChatCompletionChoicesItem", {"index": "int", "message": "ChatCompletionChoicesItemMessage", "finish_reason": "str"})

ChatCompletionChoicesItemMessage = TypedDict("ChatCompletionChoicesItemMessage", {"role": "str", "content": "Any"})

Citation = TypedDict("Citation", {"seq": "int", "speaker": "str", "start_ms": "int", "end_ms": "int", "quote": "NotRequired[str]"})

CodeResult = TypedDict("CodeResult", {"stdout": "str", "stderr": "str", "truncated": "List[Literal[\"stdout\", \"stderr\", \"result\", \"error\"]]", "result": "Union[str, None]", "error": "Union[CodeResultError1, None]", "duration_ms": "int", "execution_count": "int", "kernel_restarted": "bool", "restart_reason": "NotRequired[str]", "images": "List[str]"})

CodeResultError1 = TypedDict("CodeResultError1", {"name": "str", "value": "str", "traceback": "str"})

Command = TypedDict("Command", {"cmd": "NotRequired[Union[List[str], None]]", "shell": "NotRequired[Union[str, None]]", "language": "NotRequired[Union[Literal[\"python\", \"bash\"], None]]", "code": "NotRequired[Union[str, None]]", "env": "NotRequired[Union[Dict[str, str], None]]", "cwd": "NotRequired[Union[str, None]]", "timeout_seconds": "NotRequired[Union[int, None]]", "stdin": "NotRequired[Union[str, None]]", "inputs": "NotRequired[Union[List[CommandInputsItem], None]]"})

CommandInputsItem = TypedDict("CommandInputsItem", {"path": "str", "url": "str"})

ConnectedKey = TypedDict("ConnectedKey", {"id": "str", "name": "str", "prefix": "str", "last_four": "str", "status": "Literal[\"active\", \"paused\", \"revoked\"]", "scopes": "List[str]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "models": "NotRequired[List[str]]", "spend_cap_micro_usd": "NotRequired[int]", "expires_at": "NotRequired[str]", "last_used_at": "NotRequired[str]", "created_at": "str", "parent_id": "Union[str, None]", "connection_id": "NotRequired[str]", "key": "str"})

Connection = TypedDict("Connection", {"id": "str", "client_id": "str", "name": "str", "trust": "Literal[\"first-party\", \"registered\", \"document\", \"unknown\"]", "host": "NotRequired[str]", "scopes": "List[str]", "resources": "List[str]", "key_ids": "List[str]", "let_in": "List[ConnectionLetInItem]", "let_in_total": "int", "changed": "List[ConnectionChangedItem]", "created_at": "str", "last_used_at": "NotRequired[str]", "ends_at": "NotRequired[str]"})

ConnectionLetInItem = TypedDict("ConnectionLetInItem", {"kind": "Literal[\"member\", \"role\", \"port\", \"ssh_key\", \"webhook\", \"push\", \"share\", \"ping_key\", \"badge\"]", "name": "str", "created_at": "str"})

ConnectionChangedItem = TypedDict("ConnectionChangedItem", {"kind": "Literal[\"ping_url\", \"mute\", \"pause\", \"monitor_times\", \"webhook_secret\", \"webhook_terms\", \"preferences\", \"environment_name\", \"environment_secret\", \"port_removed\"]", "name": "str", "created_at": "str"})

CreatedBadge = TypedDict("CreatedBadge", {"svg_url": "str", "json_url": "str", "created_at": "str"})

CreatedHeartbeat = TypedDict("CreatedHeartbeat", {"id": "str", "name": "str", "slug": "NotRequired[str]", "period_s": "int", "cron": "Union[str, None]", "grace_s": "int", "tz": "NotRequired[str]", "status": "Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]", "tags": "List[str]", "expected_at": "NotRequired[str]", "down_since": "NotRequired[str]", "paused_until": "NotRequired[str]", "muted_until": "NotRequired[str]", "days": "NotRequired[str]", "last_ping_at": "NotRequired[str]", "last_start_at": "NotRequired[str]", "last_exit_code": "NotRequired[int]", "created_at": "str", "updated_at": "str", "ping_url": "str"})

CreatedKey = TypedDict("CreatedKey", {"id": "str", "name": "str", "prefix": "str", "last_four": "str", "status": "Literal[\"active\", \"paused\", \"revoked\"]", "scopes": "List[str]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "models": "NotRequired[List[str]]", "spend_cap_micro_usd": "NotRequired[int]", "expires_at": "NotRequired[str]", "last_used_at": "NotRequired[str]", "created_at": "str", "parent_id": "Union[str, None]", "connection_id": "NotRequired[str]", "key": "str"})

CreatedPingKey = TypedDict("CreatedPingKey", {"ping_key": "str", "created_at": "str"})

CreatedWebhook = TypedDict("CreatedWebhook", {"id": "str", "name": "str", "url": "str", "broken": "NotRequired[Literal[True]]", "format": "Literal[\"svc\", \"slack\", \"ntfy\"]", "types": "NotRequired[List[str]]", "headers": "NotRequired[Dict[str, str]]", "enabled": "bool", "disabled_reason": "NotRequired[str]", "failing_since": "NotRequired[str]", "created_at": "str", "updated_at": "str", "secret": "str"})

Device = TypedDict("Device", {"id": "str", "name": "str", "platform": "str", "created_at": "str", "last_seen": "str"})

Embeddings = TypedDict("Embeddings", {"model": "str", "data": "List[AnthropicMessageContentItem]"})

EndedProcess = TypedDict("EndedProcess", {"pid": "int", "command": "str", "signal": "NotRequired[str]"})

Environment = TypedDict("Environment", {"id": "str", "projectId": "str", "ownerUserId": "str", "orgId": "Union[str, None]", "forUserId": "Union[str, None]", "for_user_id": "Union[str, None]", "isolation": "str", "name": "str", "slug": "str", "provider": "Literal[\"byo\", \"managed_a\", \"managed_b\"]", "region": "Union[str, None]", "size": "Union[Literal[\"small\", \"medium\", \"large\"], None]", "state": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]", "stateReason": "Union[str, None]", "deviceId": "Union[str, None]", "providerRef": "Union[str, None]", "publicIp": "Union[str, None]", "idleTimeoutMinutes": "int", "lastActivityAt": "Union[str, None]", "startedAt": "Union[str, None]", "stoppedAt": "Union[str, None]", "hourlyRateMicroEur": "Union[int, None]", "includedHoursUsedSeconds": "int", "metadata": "Dict[str, Any]", "createdAt": "str", "updatedAt": "str"})

EnvironmentsChange = TypedDict("EnvironmentsChange", {"cursor": "str", "topic": "Literal[\"environments\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Environment]"})

Error = TypedDict("Error", {"error": "ErrorError"})

ErrorError = TypedDict("ErrorError", {"message": "str", "type": "str", "code": "str", "details": "NotRequired[ErrorErrorDetails]"})

ErrorErrorDetails = TypedDict("ErrorErrorDetails", {"fieldErrors": "NotRequired[Dict[str, List[str]]]", "reasons": "NotRequired[Dict[str, List[ErrorErrorDetailsReasonsValueItem]]]"})

ErrorErrorDetailsReasonsValueItem = TypedDict("ErrorErrorDetailsReasonsValueItem", {"code": "str", "params": "Dict[str, Union[str, float]]"})

ExecFrameOf1 = TypedDict("ExecFrameOf1", {"type": "Literal[\"start\"]"})

ExecFrameOf2 = TypedDict("ExecFrameOf2", {"type": "Literal[\"stdout\", \"stderr\"]", "data": "str"})

ExecFrameOf3 = TypedDict("ExecFrameOf3", {"type": "Literal[\"truncated\"]", "stream": "Literal[\"stdout\", \"stderr\"]"})

ExecFrameOf4 = TypedDict("ExecFrameOf4", {"type": "Literal[\"exit\"]", "exit_code": "Union[int, None]", "timed_out": "bool", "duration_ms": "int", "receipt": "Receipt"})

ExecFrameOf5 = TypedDict("ExecFrameOf5", {"type": "Literal[\"error\"]", "code": "str", "message": "str"})

ExecResult = TypedDict("ExecResult", {"exit_code": "Union[int, None]", "stdout": "str", "stderr": "str", "truncated": "List[Literal[\"stdout\", \"stderr\"]]", "timed_out": "bool", "duration_ms": "int", "receipt": "Receipt"})

FetchedPage = TypedDict("FetchedPage", {"url": "str", "final_url": "str", "title": "str", "byline": "str", "description": "str", "canonical": "str", "lang": "str", "content_type": "str", "content": "str", "empty_reason": "NotRequired[Literal[\"needs_javascript\"]]", "chars": "int", "truncated": "bool", "took_ms": "int", "cached": "bool"})

ForkedSandbox = TypedDict("ForkedSandbox", {"id": "str", "restored": "bool", "ready_ms": "float", "error": "NotRequired[str]"})

Heartbeat = TypedDict("Heartbeat", {"id": "str", "name": "str", "slug": "NotRequired[str]", "period_s": "int", "cron": "Union[str, None]", "grace_s": "int", "tz": "NotRequired[str]", "status": "Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]", "tags": "List[str]", "expected_at": "NotRequired[str]", "down_since": "NotRequired[str]", "paused_until": "NotRequired[str]", "muted_until": "NotRequired[str]", "days": "NotRequired[str]", "last_ping_at": "NotRequired[str]", "last_start_at": "NotRequired[str]", "last_exit_code": "NotRequired[int]", "created_at": "str", "updated_at": "str"})

HeartbeatLogEntry = TypedDict("HeartbeatLogEntry", {"at": "str", "kind": "Literal[\"ping\", \"flip\"]", "ping": "NotRequired[Ping]", "from": "NotRequired[Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]]", "to": "NotRequired[Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]]"})

HeartbeatsChange = TypedDict("HeartbeatsChange", {"cursor": "str", "topic": "Literal[\"heartbeats\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Heartbeat]"})

Host = TypedDict("Host", {"device_id": "str", "name": "str", "platform": "str", "os": "str", "hostname": "str", "roots": "List[str]", "since": "int", "last_seen": "int"})

HostExec = TypedDict("HostExec", {"req_id": "str", "device_id": "str", "op": "str", "state": "Literal[\"waiting\", \"sent\", \"running\", \"done\", \"expired\", \"cancelled\", \"unknown\"]", "ok": "NotRequired[bool]", "result": "NotRequired[Any]", "error": "NotRequired[str]", "exit_code": "NotRequired[int]", "output_bytes": "int", "truncated": "NotRequired[bool]", "created_at": "str", "started_at": "NotRequired[str]", "cancel_asked_at": "NotRequired[str]", "finished_at": "NotRequired[str]", "expires_at": "str"})

HostExecResult = TypedDict("HostExecResult", {"req_id": "str", "ok": "bool", "result": "Any", "error": "NotRequired[str]"})

HostExecTaken = TypedDict("HostExecTaken", {"req_id": "str", "state": "Literal[\"waiting\", \"sent\", \"running\", \"done\", \"expired\", \"cancelled\", \"unknown\"]"})

HostsChange = TypedDict("HostsChange", {"cursor": "str", "topic": "Literal[\"hosts\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Union[Host, HostExec]]"})

Insights = TypedDict("Insights", {"language": "Union[str, None]", "title": "str", "summary": "str", "key_points": "List[InsightsKeyPointsItem]", "actions": "List[InsightsActionsItem]", "decisions": "List[InsightsKeyPointsItem]", "open_questions": "List[InsightsKeyPointsItem]", "prompts": "List[InsightsPromptsItem]", "model": "str", "generated_at": "str", "stale": "bool", "dropped": "int"})

InsightsKeyPointsItem = TypedDict("InsightsKeyPointsItem", {"text": "str", "citations": "List[Citation]"})

InsightsActionsItem = TypedDict("InsightsActionsItem", {"text": "str", "citations": "List[Citation]", "owner": "Union[str, None]", "due": "Union[str, None]"})

InsightsPromptsItem = TypedDict("InsightsPromptsItem", {"index": "int", "title": "str", "prompt": "str", "accepted_prompt_id": "Union[str, None]"})

Key = TypedDict("Key", {"id": "str", "name": "str", "prefix": "str", "last_four": "str", "status": "Literal[\"active\", \"paused\", \"revoked\"]", "scopes": "List[str]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "models": "NotRequired[List[str]]", "spend_cap_micro_usd": "NotRequired[int]", "expires_at": "NotRequired[str]", "last_used_at": "NotRequired[str]", "created_at": "str", "parent_id": "Union[str, None]", "connection_id": "NotRequired[str]"})

Login = TypedDict("Login", {"id": "str", "name": "str", "platform": "str", "created_at": "str", "last_seen_at": "str", "expires_at": "str", "network": "str", "amr": "List[str]", "current": "bool"})

Machine = TypedDict("Machine", {"device_id": "str", "name": "str", "platform": "str", "os": "NotRequired[str]", "hostname": "NotRequired[str]", "online": "bool", "last_seen": "str", "roots": "List[str]", "tags": "List[str]", "kinds": "List[Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]]", "serves": "List[Literal[\"hosts\", \"scheduler\", \"environment\"]]", "paused": "bool", "max_parallel": "NotRequired[int]", "running": "int", "approvals_waiting": "int", "environment_id": "NotRequired[str]"})

McpMessage = TypedDict("McpMessage", {"jsonrpc": "str"})

Me = TypedDict("Me", {"account": "MeAccount", "actor": "MeActor", "features": "Dict[str, bool]", "operator": "bool", "orgs": "List[MeOrgsItem]", "sign_in": "MeSignIn"})

MeAccount = TypedDict("MeAccount", {"id": "str", "email": "str", "email_verified": "bool", "name": "str", "locale": "NotRequired[Literal[\"en\", \"ro\"]]", "tz": "NotRequired[str]", "created_at": "str"})

MeActor = TypedDict("MeActor", {"kind": "Literal[\"login\", \"key\"]", "id": "str", "scopes": "List[str]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "auth_time": "NotRequired[str]"})

MeOrgsItem = TypedDict("MeOrgsItem", {"id": "str", "name": "str", "role": "Literal[\"owner\", \"admin\", \"member\"]"})

MeSignIn = TypedDict("MeSignIn", {"password": "bool", "passkeys": "int", "recovery_codes_left": "int"})

MediaToken = TypedDict("MediaToken", {"token": "str", "scope": "Literal[\"realtime\", \"audio\", \"embeddings\"]", "expires_at": "str"})

Model = TypedDict("Model", {"id": "str", "object": "Literal[\"model\"]", "type": "Literal[\"model\"]", "display_name": "str", "created": "int", "created_at": "str", "owned_by": "str"})

ModelReceipt = TypedDict("ModelReceipt", {"trace_id": "str", "model": "str", "lane": "str", "usage": "ModelReceiptUsage", "cost_micro_usd": "int", "unpriced": "NotRequired[bool]", "estimated": "NotRequired[bool]", "created_at": "str"})

ModelReceiptUsage = TypedDict("ModelReceiptUsage", {"input_tokens": "int", "output_tokens": "int", "cached_tokens": "NotRequired[int]"})

ModelResponse = TypedDict("ModelResponse", {"id": "str", "status": "str", "model": "str", "output": "List[AnthropicMessageContentItem]"})

NewSandbox = TypedDict("NewSandbox", {"backend": "NotRequired[Union[Literal[\"v1\", \"v2\"], None]]", "template": "NotRequired[Union[Literal[\"svc-base\", \"office-acte\", \"desktop\"], None]]", "ttl_seconds": "NotRequired[Union[int, None]]", "egress": "NotRequired[Union[Union[NewSandboxEgress11, NewSandboxEgress12, NewSandboxEgress13], None]]", "metadata": "NotRequired[Union[Dict[str, str], None]]"})

NewSandboxEgress11 = TypedDict("NewSandboxEgress11", {"mode": "Literal[\"none\"]"})

NewSandboxEgress12 = TypedDict("NewSandboxEgress12", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})

NewSandboxEgress13 = TypedDict("NewSandboxEgress13", {"mode": "Literal[\"preset\"]", "preset": "Literal[\"pypi\", \"npm\"]"})

NewScheduleOf1 = TypedDict("NewScheduleOf1", {"name": "str", "description": "NotRequired[Union[str, None]]", "enabled": "NotRequired[Union[bool, None]]", "trigger": "TriggerInput", "target": "NotRequired[Union[Target, None]]", "failover": "NotRequired[Union[List[List[str]], None]]", "native": "NotRequired[Union[bool, None]]", "policy": "NotRequired[Union[NewScheduleOf1Policy, None]]", "misfire": "NotRequired[Union[Literal[\"skip\", \"once\", \"all_within\"], None]]", "misfire_window_min": "NotRequired[Union[int, None]]", "overlap": "NotRequired[Union[Literal[\"skip\", \"queue\", \"kill\"], None]]", "timeout_s": "NotRequired[Union[int, None]]", "retries": "NotRequired[Union[int, None]]", "retry_backoff_s": "NotRequired[Union[int, None]]", "late_after_s": "NotRequired[Union[int, None]]", "alert_on_fail": "NotRequired[Union[bool, None]]", "notify": "NotRequired[Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]]", "ignore": "NotRequired[Union[List[str], None]]", "template": "NotRequired[Union[str, None]]", "kind": "Literal[\"agent\"]", "spec": "NewScheduleOf1Spec"})

NewScheduleOf1Policy = TypedDict("NewScheduleOf1Policy", {"approval": "NotRequired[Union[Literal[\"never\", \"always\", \"outside_hours\"], None]]", "quiet_hours": "NotRequired[Union[NewScheduleOf1PolicyQuietHours, None]]", "max_runs_per_hour": "NotRequired[Union[int, None]]", "budget_micro_usd_per_run": "NotRequired[Union[int, None]]", "budget_micro_usd_per_day": "NotRequired[Union[int, None]]", "skip_days": "NotRequired[Union[NewScheduleOf1PolicySkipDays, None]]", "pause_after_failures": "NotRequired[Union[int, None]]"})

NewScheduleOf1PolicyQuietHours = TypedDict("NewScheduleOf1PolicyQuietHours", {"start": "str", "end": "str", "days": "NotRequired[Union[List[int], None]]", "tz": "NotRequired[Union[str, None]]"})

NewScheduleOf1PolicySkipDays = TypedDict("NewScheduleOf1PolicySkipDays", {"holidays": "NotRequired[Union[Literal[\"RO\"], None]]", "weekdays": "NotRequired[Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]]", "dates": "NotRequired[Union[List[str], None]]"})

NewScheduleOf1Spec = TypedDict("NewScheduleOf1Spec", {"prompt": "str", "skill": "NotRequired[Union[str, None]]", "permissions": "NotRequired[Union[Literal[\"read\", \"edit\", \"pr\"], List[Literal[\"read\", \"edit\", \"pr\"]], None]]"})

NewScheduleOf2 = TypedDict("NewScheduleOf2", {"name": "str", "description": "NotRequired[Union[str, None]]", "enabled": "NotRequired[Union[bool, None]]", "trigger": "TriggerInput", "target": "NotRequired[Union[Target, None]]", "failover": "NotRequired[Union[List[List[str]], None]]", "native": "NotRequired[Union[bool, None]]", "policy": "NotRequired[Union[NewScheduleOf1Policy, None]]", "misfire": "NotRequired[Union[Literal[\"skip\", \"once\", \"all_within\"], None]]", "misfire_window_min": "NotRequired[Union[int, None]]", "overlap": "NotRequired[Union[Literal[\"skip\", \"queue\", \"kill\"], None]]", "timeout_s": "NotRequired[Union[int, None]]", "retries": "NotRequired[Union[int, None]]", "retry_backoff_s": "NotRequired[Union[int, None]]", "late_after_s": "NotRequired[Union[int, None]]", "alert_on_fail": "NotRequired[Union[bool, None]]", "notify": "NotRequired[Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]]", "ignore": "NotRequired[Union[List[str], None]]", "template": "NotRequired[Union[str, None]]", "kind": "Literal[\"shell\"]", "spec": "NewScheduleOf2Spec"})

NewScheduleOf2Spec = TypedDict("NewScheduleOf2Spec", {"command": "str", "cwd": "NotRequired[Union[str, None]]", "env_names": "NotRequired[Union[List[str], None]]", "shell": "NotRequired[Union[str, None]]"})

NewScheduleOf3 = TypedDict("NewScheduleOf3", {"name": "str", "description": "NotRequired[Union[str, None]]", "enabled": "NotRequired[Union[bool, None]]", "trigger": "TriggerInput", "target": "NotRequired[Union[Target, None]]", "failover": "NotRequired[Union[List[List[str]], None]]", "native": "NotRequired[Union[bool, None]]", "policy": "NotRequired[Union[NewScheduleOf1Policy, None]]", "misfire": "NotRequired[Union[Literal[\"skip\", \"once\", \"all_within\"], None]]", "misfire_window_min": "NotRequired[Union[int, None]]", "overlap": "NotRequired[Union[Literal[\"skip\", \"queue\", \"kill\"], None]]", "timeout_s": "NotRequired[Union[int, None]]", "retries": "NotRequired[Union[int, None]]", "retry_backoff_s": "NotRequired[Union[int, None]]", "late_after_s": "NotRequired[Union[int, None]]", "alert_on_fail": "NotRequired[Union[bool, None]]", "notify": "NotRequired[Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]]", "ignore": "NotRequired[Union[List[str], None]]", "template": "NotRequired[Union[str, None]]", "kind": "Literal[\"http\"]", "spec": "NewScheduleOf3Spec"})

NewScheduleOf3Spec = TypedDict("NewScheduleOf3Spec", {"method": "NotRequired[Union[Literal[\"GET\", \"HEAD\", \"POST\", \"PUT\", \"PATCH\", \"DELETE\"], None]]", "url": "str", "headers": "NotRequired[Union[Dict[str, str], None]]", "body": "NotRequired[Union[str, None]]", "expect_status": "NotRequired[Union[int, None]]"})

NewScheduleOf4 = TypedDict("NewScheduleOf4", {"name": "str", "description": "NotRequired[Union[str, None]]", "enabled": "NotRequired[Union[bool, None]]", "trigger": "TriggerInput", "target": "NotRequired[Union[Target, None]]", "failover": "NotRequired[Union[List[List[str]], None]]", "native": "NotRequired[Union[bool, None]]", "policy": "NotRequired[Union[NewScheduleOf1Policy, None]]", "misfire": "NotRequired[Union[Literal[\"skip\", \"once\", \"all_within\"], None]]", "misfire_window_min": "NotRequired[Union[int, None]]", "overlap": "NotRequired[Union[Literal[\"skip\", \"queue\", \"kill\"], None]]", "timeout_s": "NotRequired[Union[int, None]]", "retries": "NotRequired[Union[int, None]]", "retry_backoff_s": "NotRequired[Union[int, None]]", "late_after_s": "NotRequired[Union[int, None]]", "alert_on_fail": "NotRequired[Union[bool, None]]", "notify": "NotRequired[Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]]", "ignore": "NotRequired[Union[List[str], None]]", "template": "NotRequired[Union[str, None]]", "kind": "Literal[\"chain\"]", "spec": "NewScheduleOf4Spec"})

NewScheduleOf4Spec = TypedDict("NewScheduleOf4Spec", {"steps": "List[NewScheduleOf4SpecStepsItem]", "stop_on_failure": "NotRequired[Union[bool, None]]"})

NewScheduleOf4SpecStepsItem = TypedDict("NewScheduleOf4SpecStepsItem", {"schedule_id": "str", "on": "NotRequired[Union[Literal[\"success\", \"always\"], None]]"})

NewScheduleOf5 = TypedDict("NewScheduleOf5", {"name": "str", "description": "NotRequired[Union[str, None]]", "enabled": "NotRequired[Union[bool, None]]", "trigger": "TriggerInput", "target": "NotRequired[Union[Target, None]]", "failover": "NotRequired[Union[List[List[str]], None]]", "native": "NotRequired[Union[bool, None]]", "policy": "NotRequired[Union[NewScheduleOf1Policy, None]]", "misfire": "NotRequired[Union[Literal[\"skip\", \"once\", \"all_within\"], None]]", "misfire_window_min": "NotRequired[Union[int, None]]", "overlap": "NotRequired[Union[Literal[\"skip\", \"queue\", \"kill\"], None]]", "timeout_s": "NotRequired[Union[int, None]]", "retries": "NotRequired[Union[int, None]]", "retry_backoff_s": "NotRequired[Union[int, None]]", "late_after_s": "NotRequired[Union[int, None]]", "alert_on_fail": "NotRequired[Union[bool, None]]", "notify": "NotRequired[Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]]", "ignore": "NotRequired[Union[List[str], None]]", "template": "NotRequired[Union[str, None]]", "kind": "Literal[\"phone_action\"]", "spec": "Union[NewScheduleOf5Spec1, NewScheduleOf5Spec2, NewScheduleOf5Spec3, NewScheduleOf5Spec4, NewScheduleOf5Spec5]"})

NewScheduleOf5Spec1 = TypedDict("NewScheduleOf5Spec1", {"action": "Literal[\"notify\"]", "params": "NewScheduleOf5Spec1Params"})

NewScheduleOf5Spec1Params = TypedDict("NewScheduleOf5Spec1Params", {"title": "str", "body": "NotRequired[Union[str, None]]"})

NewScheduleOf5Spec2 = TypedDict("NewScheduleOf5Spec2", {"action": "Literal[\"start_agent\"]", "params": "NewScheduleOf5Spec2Params"})

NewScheduleOf5Spec2Params = TypedDict("NewScheduleOf5Spec2Params", {"prompt": "str"})

NewScheduleOf5Spec3 = TypedDict("NewScheduleOf5Spec3", {"action": "Literal[\"open_app\"]", "params": "NewScheduleOf5Spec3Params"})

NewScheduleOf5Spec3Params = TypedDict("NewScheduleOf5Spec3Params", {"app_id": "NotRequired[Union[str, None]]", "url": "NotRequired[Union[str, None]]"})

NewScheduleOf5Spec4 = TypedDict("NewScheduleOf5Spec4", {"action": "Literal[\"wifi\"]", "params": "NewScheduleOf5Spec4Params"})

NewScheduleOf5Spec4Params = TypedDict("NewScheduleOf5Spec4Params", {"on": "bool"})

NewScheduleOf5Spec5 = TypedDict("NewScheduleOf5Spec5", {"action": "Literal[\"dnd\"]", "params": "NewScheduleOf5Spec5Params"})

NewScheduleOf5Spec5Params = TypedDict("NewScheduleOf5Spec5Params", {"on": "bool", "until": "NotRequired[Union[str, None]]"})

NewSessionEvent = TypedDict("NewSessionEvent", {"type": "Literal[\"turn_start\", \"delta\", \"turn_end\", \"message\", \"tool\"]", "turn_id": "str", "id": "NotRequired[Union[str, None]]", "role": "NotRequired[Union[str, None]]", "text": "NotRequired[Union[str, None]]", "data": "NotRequired[Union[Dict[str, Any], None]]"})

Notification = TypedDict("Notification", {"id": "str", "type": "str", "title": "str", "body": "str", "url": "NotRequired[str]", "web_url": "NotRequired[str]", "severity": "Literal[\"info\", \"warning\", \"critical\"]", "data": "NotRequired[Dict[str, Any]]", "created_at": "str", "read_at": "NotRequired[str]", "archived_at": "NotRequired[str]", "resolved_at": "NotRequired[str]", "resolution": "NotRequired[Literal[\"approved\", \"skipped\", \"cancelled\", \"expired\", \"started\", \"done\", \"recovered\", \"resumed\", \"paused\", \"postponed\", \"accepted\", \"declined\", \"dismissed\", \"removed\"]]", "actions": "List[Action]"})

NotificationRule = TypedDict("NotificationRule", {"type": "Union[Literal[\"*\"], str]", "min_severity": "NotRequired[Literal[\"info\", \"warning\", \"critical\"]]", "channels": "List[Literal[\"push\", \"mail\", \"webhook\"]]", "quiet_hours": "NotRequired[NotificationRuleQuietHours]"})

NotificationRuleQuietHours = TypedDict("NotificationRuleQuietHours", {"from": "str", "to": "str", "tz": "str"})

NotificationRuleInput = TypedDict("NotificationRuleInput", {"type": "Union[Literal[\"*\"], str]", "min_severity": "NotRequired[Union[Literal[\"info\", \"warning\", \"critical\"], None]]", "channels": "List[Literal[\"push\", \"mail\", \"webhook\"]]", "quiet_hours": "NotRequired[Union[NotificationRuleInputQuietHours, None]]"})

NotificationRuleInputQuietHours = TypedDict("NotificationRuleInputQuietHours", {"from": "str", "to": "str", "tz": "str"})

NotificationsChange = TypedDict("NotificationsChange", {"cursor": "str", "topic": "Literal[\"notifications\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Union[Notification, NotificationsChangeRecord2]]"})

NotificationsChangeRecord2 = TypedDict("NotificationsChangeRecord2", {"read_at": "str"})

OneShot = TypedDict("OneShot", {"cmd": "NotRequired[Union[List[str], None]]", "shell": "NotRequired[Union[str, None]]", "language": "NotRequired[Union[Literal[\"python\", \"bash\"], None]]", "code": "NotRequired[Union[str, None]]", "env": "NotRequired[Union[Dict[str, str], None]]", "cwd": "NotRequired[Union[str, None]]", "timeout_seconds": "NotRequired[Union[int, None]]", "stdin": "NotRequired[Union[str, None]]", "inputs": "NotRequired[Union[List[CommandInputsItem], None]]", "backend": "NotRequired[Union[Literal[\"v1\", \"v2\"], None]]", "template": "NotRequired[Union[Literal[\"svc-base\", \"office-acte\", \"desktop\"], None]]", "egress": "NotRequired[Union[Union[NewSandboxEgress11, NewSandboxEgress12, NewSandboxEgress13], None]]", "metadata": "NotRequired[Union[Dict[str, str], None]]"})

OverviewItem = TypedDict("OverviewItem", {"id": "str", "kind": "Literal[\"heartbeat_down\", \"heartbeat_late\", \"run_approval\", \"run_failed\", \"run_stuck\", \"transcript_failed\", \"environment_failed\", \"prompt_due\", \"notification_critical\", \"schedules_paused\"]", "severity": "Literal[\"critical\", \"warning\", \"info\"]", "title": "str", "waiting_for": "NotRequired[Literal[\"account_paused\", \"back_off\", \"earlier_run\", \"cloud\", \"starting\", \"no_host\", \"tags\", \"host_paused\", \"not_approved\", \"host_busy\"]]", "detail": "NotRequired[str]", "muted_until": "NotRequired[str]", "since": "str", "href": "str", "actions": "List[Action]"})

Passkey = TypedDict("Passkey", {"id": "str", "name": "str", "created_at": "str", "last_used_at": "NotRequired[str]", "backed_up": "bool"})

Ping = TypedDict("Ping", {"kind": "Literal[\"success\", \"start\", \"fail\", \"log\", \"exit\"]", "at": "str", "exit_code": "NotRequired[int]", "rid": "NotRequired[str]", "body": "NotRequired[str]", "count": "int"})

Project = TypedDict("Project", {"id": "str", "ownerUserId": "str", "orgId": "Union[str, None]", "name": "str", "slug": "str", "repoUrl": "Union[str, None]", "defaultBranch": "str", "devcontainerPath": "Union[str, None]", "isolation": "Literal[\"shared_vm\", \"container\", \"vm_per_dev\"]", "settings": "Dict[str, Any]", "createdAt": "str", "updatedAt": "str"})

Prompt = TypedDict("Prompt", {"id": "str", "prompt": "str", "text_hash": "str", "source": "str", "goal_key": "NotRequired[str]", "not_before": "NotRequired[str]", "auto_run": "bool", "target_device_id": "NotRequired[str]", "status": "Literal[\"open\", \"launched\", \"sent\", \"answered\", \"verified\", \"done\", \"dismissed\", \"superseded\"]", "match_ref": "NotRequired[str]", "match_turn_id": "NotRequired[str]", "run_session_id": "NotRequired[str]", "waiting_for": "NotRequired[str]", "last_turn": "NotRequired[PromptTurn]", "report": "NotRequired[PromptReport]", "created_at": "str", "updated_at": "str", "launched_at": "NotRequired[str]", "sent_at": "NotRequired[str]", "answered_at": "NotRequired[str]", "verified_at": "NotRequired[str]", "superseded_by": "NotRequired[str]"})

PromptReport = TypedDict("PromptReport", {"verdict": "Literal[\"done\", \"partial\", \"not_started\"]", "summary": "str", "changed": "str", "remaining": "str"})

PromptTurn = TypedDict("PromptTurn", {"ok": "bool", "exit_code": "NotRequired[int]", "error": "NotRequired[str]"})

PromptsChange = TypedDict("PromptsChange", {"cursor": "str", "topic": "Literal[\"prompts\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Prompt]"})

PublicTranscript = TypedDict("PublicTranscript", {"title": "str", "started_at": "str", "duration_ms": "Union[int, None]", "language": "Union[str, None]", "speakers": "List[PublicTranscriptSpeakersItem]", "utterances": "List[PublicTranscriptUtterancesItem]", "summary": "Union[str, None]", "key_points": "List[PublicTranscriptKeyPointsItem]", "actions": "List[PublicTranscriptActionsItem]", "expiresAt": "Union[str, None]"})

PublicTranscriptSpeakersItem = TypedDict("PublicTranscriptSpeakersItem", {"label": "str", "name": "Union[str, None]"})

PublicTranscriptUtterancesItem = TypedDict("PublicTranscriptUtterancesItem", {"seq": "int", "speaker": "str", "start_ms": "int", "end_ms": "int", "text": "str"})

PublicTranscriptKeyPointsItem = TypedDict("PublicTranscriptKeyPointsItem", {"text": "str"})

PublicTranscriptActionsItem = TypedDict("PublicTranscriptActionsItem", {"text": "str", "owner": "Union[str, None]"})

Readiness = TypedDict("Readiness", {"ok": "bool", "checks": "ReadinessChecks", "s1": "ReadinessS1"})

ReadinessChecks = TypedDict("ReadinessChecks", {"db": "ReadinessChecksDb", "schema": "ReadinessChecksDb", "registry": "ReadinessChecksDb", "worker": "NotRequired[ReadinessChecksWorker]", "relay": "NotRequired[ReadinessChecksRelay]", "sandboxes": "NotRequired[ReadinessChecksSandboxes]"})

ReadinessChecksDb = TypedDict("ReadinessChecksDb", {"ok": "bool", "error": "NotRequired[str]"})

ReadinessChecksWorker = TypedDict("ReadinessChecksWorker", {"ok": "bool", "error": "NotRequired[str]"})

ReadinessChecksRelay = TypedDict("ReadinessChecksRelay", {"ok": "bool", "error": "NotRequired[str]"})

ReadinessChecksSandboxes = TypedDict("ReadinessChecksSandboxes", {"ok": "bool", "error": "NotRequired[str]"})

ReadinessS1 = TypedDict("ReadinessS1", {"mode": "str", "ok": "bool", "ms": "int", "error": "NotRequired[str]"})

Receipt = TypedDict("Receipt", {"image_digest": "str", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "input_sha256": "str", "command_sha256": "str", "outputs": "List[ReceiptOutputsItem]", "generation_before": "int", "generation_after": "int"})

ReceiptOutputsItem = TypedDict("ReceiptOutputsItem", {"path": "str", "sha256": "str", "bytes": "int"})

RelayStatus = TypedDict("RelayStatus", {"environment_id": "str", "online": "bool", "usable": "bool", "usable_since": "Union[int, None]", "instance": "Union[str, None]", "last_heartbeat": "Union[int, None]", "activity": "Union[int, None]", "ports": "List[RelayStatusPortsItem]", "git_state": "Union[RelayStatusGitState1, None]", "daemon": "Union[RelayStatusDaemon1, None]", "streams": "int", "attached": "List[RelayStatusAttachedItem]", "locks": "List[RelayStatusLocksItem]", "clients": "int"})

RelayStatusPortsItem = TypedDict("RelayStatusPortsItem", {"port": "int", "pid": "Union[int, None]", "process": "Union[str, None]"})

RelayStatusGitState1 = TypedDict("RelayStatusGitState1", {"branch": "Union[str, None]", "dirty": "bool", "ahead": "int", "behind": "int", "worktrees": "List[RelayStatusGitState1WorktreesItem]"})

RelayStatusGitState1WorktreesItem = TypedDict("RelayStatusGitState1WorktreesItem", {"path": "str", "branch": "Union[str, None]", "dirty": "bool"})

RelayStatusDaemon1 = TypedDict("RelayStatusDaemon1", {"daemon_version": "str", "os": "str", "arch": "str", "capabilities": "List[str]"})

RelayStatusAttachedItem = TypedDict("RelayStatusAttachedItem", {"client_id": "str", "user_id": "str", "role": "Union[Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"], None]", "kind": "Literal[\"port\", \"terminal\"]", "device_id": "Union[str, None]", "name": "Union[str, None]", "platform": "Union[str, None]", "attached_at": "int"})

RelayStatusLocksItem = TypedDict("RelayStatusLocksItem", {"name": "str", "holder": "Union[str, None]", "since": "int"})

ResumedSandbox = TypedDict("ResumedSandbox", {"id": "str", "object": "Literal[\"sandbox\"]", "status": "Literal[\"running\", \"paused\", \"stopped\", \"expired\", \"destroyed\"]", "backend": "Literal[\"v1\", \"v2\"]", "restored": "bool", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "egress": "Union[NewSandboxEgress11, ResumedSandboxEgress2, NewSandboxEgress13]", "created_at": "str", "expires_at": "str", "last_exec_at": "Union[str, None]", "metadata": "Dict[str, str]", "usage": "ResumedSandboxUsage", "ended_after_resume": "NotRequired[List[EndedProcess]]", "parent_id": "NotRequired[str]", "name": "NotRequired[str]", "cost_micro_eur": "int", "ready_ms": "float"})

ResumedSandboxEgress2 = TypedDict("ResumedSandboxEgress2", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})

ResumedSandboxUsage = TypedDict("ResumedSandboxUsage", {"exec_count": "int", "exec_seconds": "float"})

RotatedWebhook = TypedDict("RotatedWebhook", {"id": "str", "name": "str", "url": "str", "broken": "NotRequired[Literal[True]]", "format": "Literal[\"svc\", \"slack\", \"ntfy\"]", "types": "NotRequired[List[str]]", "headers": "NotRequired[Dict[str, str]]", "enabled": "bool", "disabled_reason": "NotRequired[str]", "failing_since": "NotRequired[str]", "created_at": "str", "updated_at": "str", "secret": "str", "previous_until": "str"})

Run = TypedDict("Run", {"id": "str", "schedule_id": "str", "scheduled_for": "str", "state": "Literal[\"pending\", \"awaiting_approval\", \"running\", \"succeeded\", \"failed\", \"timed_out\", \"skipped\", \"cancelled\", \"expired\"]", "attempt": "int", "device_id": "NotRequired[str]", "started_at": "NotRequired[str]", "finished_at": "NotRequired[str]", "exit_code": "NotRequired[int]", "ended_processes": "NotRequired[int]", "cost_micro_usd": "int", "log_tail": "NotRequired[str]", "session_id": "NotRequired[str]", "error": "NotRequired[str]", "waiting_for": "NotRequired[Literal[\"account_paused\", \"back_off\", \"earlier_run\", \"cloud\", \"starting\", \"no_host\", \"tags\", \"host_paused\", \"not_approved\", \"host_busy\"]]", "waiting_on": "NotRequired[List[str]]", "created_at": "str"})

RunDetail = TypedDict("RunDetail", {"id": "str", "schedule_id": "str", "scheduled_for": "str", "state": "Literal[\"pending\", \"awaiting_approval\", \"running\", \"succeeded\", \"failed\", \"timed_out\", \"skipped\", \"cancelled\", \"expired\"]", "attempt": "int", "device_id": "NotRequired[str]", "started_at": "NotRequired[str]", "finished_at": "NotRequired[str]", "exit_code": "NotRequired[int]", "ended_processes": "NotRequired[int]", "cost_micro_usd": "int", "log_tail": "NotRequired[str]", "session_id": "NotRequired[str]", "error": "NotRequired[str]", "waiting_for": "NotRequired[Literal[\"account_paused\", \"back_off\", \"earlier_run\", \"cloud\", \"starting\", \"no_host\", \"tags\", \"host_paused\", \"not_approved\", \"host_busy\"]]", "waiting_on": "NotRequired[List[str]]", "created_at": "str", "name": "str", "kind": "Literal[\"agent\", \"shell\", \"http\", \"chain\", \"phone_action\"]", "spec": "NotRequired[Dict[str, Any]]", "command_hash": "NotRequired[str]", "timeout_s": "int", "attempts": "List[RunDetailAttemptsItem]"})

RunDetailAttemptsItem = TypedDict("RunDetailAttemptsItem", {"attempt": "int", "device_id": "NotRequired[str]", "state": "Literal[\"running\", \"succeeded\", \"failed\", \"timed_out\", \"cancelled\", \"lost\", \"handed_back\", \"refused\"]", "started_at": "str", "finished_at": "NotRequired[str]", "error": "NotRequired[str]", "ended_processes": "NotRequired[int]"})

RunResult = TypedDict("RunResult", {"exit_code": "Union[int, None]", "stdout": "str", "stderr": "str", "truncated": "List[Literal[\"stdout\", \"stderr\"]]", "timed_out": "bool", "duration_ms": "int", "receipt": "Receipt", "artifacts": "List[Artifact]"})

Sandbox = TypedDict("Sandbox", {"id": "str", "object": "Literal[\"sandbox\"]", "status": "Literal[\"running\", \"paused\", \"stopped\", \"expired\", \"destroyed\"]", "backend": "Literal[\"v1\", \"v2\"]", "restored": "NotRequired[bool]", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "egress": "Union[NewSandboxEgress11, ResumedSandboxEgress2, NewSandboxEgress13]", "created_at": "str", "expires_at": "str", "last_exec_at": "Union[str, None]", "metadata": "Dict[str, str]", "usage": "ResumedSandboxUsage", "ended_after_resume": "NotRequired[List[EndedProcess]]", "parent_id": "NotRequired[str]", "name": "NotRequired[str]", "cost_micro_eur": "int"})

SandboxChange = TypedDict("SandboxChange", {"ttl_seconds": "NotRequired[Union[int, None]]", "metadata": "NotRequired[Union[Dict[str, str], None]]", "egress": "NotRequired[Union[Union[NewSandboxEgress11, NewSandboxEgress12, NewSandboxEgress13], None]]"})

SandboxEvent = TypedDict("SandboxEvent", {"id": "str", "at": "str", "kind": "Literal[\"created\", \"paused\", \"resumed\", \"forked\", \"extended\", \"stopped\", \"failed\"]", "detail": "Dict[str, Any]"})

SandboxesChange = TypedDict("SandboxesChange", {"cursor": "str", "topic": "Literal[\"sandboxes\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[SandboxesChangeRecord]"})

SandboxesChangeRecord = TypedDict("SandboxesChangeRecord", {"id": "str", "object": "Literal[\"sandbox\"]", "status": "Literal[\"running\", \"paused\", \"stopped\", \"expired\", \"destroyed\"]", "backend": "Literal[\"v1\", \"v2\"]", "restored": "NotRequired[bool]", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "egress": "Union[NewSandboxEgress11, ResumedSandboxEgress2, NewSandboxEgress13]", "created_at": "str", "expires_at": "str", "last_exec_at": "Union[str, None]", "metadata": "Dict[str, str]", "usage": "ResumedSandboxUsage", "ended_after_resume": "NotRequired[List[EndedProcess]]", "parent_id": "NotRequired[str]", "name": "NotRequired[str]"})

Schedule = TypedDict("Schedule", {"id": "str", "name": "str", "description": "NotRequired[str]", "enabled": "bool", "trigger": "Trigger", "target": "Target", "failover": "NotRequired[List[List[str]]]", "native": "NotRequired[bool]", "policy": "NotRequired[SchedulePolicy]", "misfire": "NotRequired[Literal[\"skip\", \"once\", \"all_within\"]]", "misfire_window_min": "NotRequired[int]", "overlap": "NotRequired[Literal[\"skip\", \"queue\", \"kill\"]]", "timeout_s": "NotRequired[int]", "retries": "NotRequired[int]", "retry_backoff_s": "NotRequired[int]", "late_after_s": "NotRequired[int]", "alert_on_fail": "NotRequired[bool]", "notify": "NotRequired[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"]]", "ignore": "NotRequired[List[str]]", "template": "NotRequired[str]", "kind": "Literal[\"agent\", \"shell\", \"http\", \"chain\", \"phone_action\"]", "spec": "Dict[str, Any]", "command_hash": "NotRequired[str]", "next_run_at": "NotRequired[str]", "last_run_at": "NotRequired[str]", "upcoming": "List[str]", "approvals": "NotRequired[List[ScheduleApprovalsItem]]", "created_at": "str", "updated_at": "str"})

SchedulePolicy = TypedDict("SchedulePolicy", {"approval": "NotRequired[Literal[\"never\", \"always\", \"outside_hours\"]]", "quiet_hours": "NotRequired[SchedulePolicyQuietHours]", "max_runs_per_hour": "NotRequired[int]", "budget_micro_usd_per_run": "NotRequired[int]", "budget_micro_usd_per_day": "NotRequired[int]", "skip_days": "NotRequired[SchedulePolicySkipDays]", "pause_after_failures": "NotRequired[int]"})

SchedulePolicyQuietHours = TypedDict("SchedulePolicyQuietHours", {"start": "str", "end": "str", "days": "NotRequired[List[int]]", "tz": "NotRequired[str]"})

SchedulePolicySkipDays = TypedDict("SchedulePolicySkipDays", {"holidays": "NotRequired[Literal[\"RO\"]]", "weekdays": "NotRequired[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]]]", "dates": "NotRequired[List[str]]"})

ScheduleApprovalsItem = TypedDict("ScheduleApprovalsItem", {"device_id": "str", "command_hash": "str", "approved_at": "str"})

ScheduleChanges = TypedDict("ScheduleChanges", {"description": "NotRequired[Union[str, None]]", "enabled": "NotRequired[Union[Union[bool, None], None]]", "target": "NotRequired[Union[Target, None]]", "failover": "NotRequired[Union[List[List[str]], None]]", "native": "NotRequired[Union[Union[bool, None], None]]", "policy": "NotRequired[Union[ScheduleChangesPolicy1, None]]", "misfire": "NotRequired[Union[Literal[\"skip\", \"once\", \"all_within\"], None]]", "misfire_window_min": "NotRequired[Union[int, None]]", "overlap": "NotRequired[Union[Literal[\"skip\", \"queue\", \"kill\"], None]]", "timeout_s": "NotRequired[Union[int, None]]", "retries": "NotRequired[Union[int, None]]", "retry_backoff_s": "NotRequired[Union[int, None]]", "late_after_s": "NotRequired[Union[int, None]]", "alert_on_fail": "NotRequired[Union[Union[bool, None], None]]", "notify": "NotRequired[Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]]", "ignore": "NotRequired[Union[List[str], None]]", "template": "NotRequired[Union[str, None]]", "name": "NotRequired[Union[str, None]]", "trigger": "NotRequired[Union[TriggerInput, None]]", "kind": "NotRequired[Union[Literal[\"agent\", \"shell\", \"http\", \"chain\", \"phone_action\"], None]]", "spec": "NotRequired[Union[Dict[str, Any], None]]"})

ScheduleChangesPolicy1 = TypedDict("ScheduleChangesPolicy1", {"approval": "NotRequired[Union[Literal[\"never\", \"always\", \"outside_hours\"], None]]", "quiet_hours": "NotRequired[Union[NewScheduleOf1PolicyQuietHours, None]]", "max_runs_per_hour": "NotRequired[Union[int, None]]", "budget_micro_usd_per_run": "NotRequired[Union[int, None]]", "budget_micro_usd_per_day": "NotRequired[Union[int, None]]", "skip_days": "NotRequired[Union[NewScheduleOf1PolicySkipDays, None]]", "pause_after_failures": "NotRequired[Union[int, None]]"})

SchedulerChange = TypedDict("SchedulerChange", {"cursor": "str", "topic": "Literal[\"scheduler\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[SchedulerChangeRecord]"})

SchedulerChangeRecord = TypedDict("SchedulerChangeRecord", {"id": "str", "schedule_id": "str", "state": "Literal[\"pending\", \"awaiting_approval\", \"running\", \"succeeded\", \"failed\", \"timed_out\", \"skipped\", \"cancelled\", \"expired\"]", "attempt": "int"})

SchedulerHost = TypedDict("SchedulerHost", {"id": "str", "device_id": "str", "name": "str", "platform": "str", "tags": "List[str]", "kinds": "List[Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]]", "online": "bool", "last_seen": "str", "paused": "bool", "max_parallel": "NotRequired[int]", "running": "int"})

SchedulesChange = TypedDict("SchedulesChange", {"cursor": "str", "topic": "Literal[\"schedules\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Union[SchedulesChangeRecord1, SchedulesChangeRecord2]]"})

SchedulesChangeRecord1 = TypedDict("SchedulesChangeRecord1", {"id": "str", "name": "str", "enabled": "bool"})

SchedulesChangeRecord2 = TypedDict("SchedulesChangeRecord2", {"paused": "bool"})

SearchAnswer = TypedDict("SearchAnswer", {"results": "List[SearchResult]", "provider": "str", "took_ms": "int", "cached": "bool", "coverage": "float", "sources_tried": "List[str]", "degraded": "List[str]", "intent": "Literal[\"currency\", \"weather\", \"news\", \"docs\", \"code\", \"general\"]", "rerank": "SearchAnswerRerank"})

SearchAnswerRerank = TypedDict("SearchAnswerRerank", {"model": "str", "ms": "int", "n": "int"})

SearchResult = TypedDict("SearchResult", {"title": "str", "url": "str", "snippet": "str", "page_age": "str", "source": "str", "verified": "bool", "proof": "SearchResultProof"})

SearchResultProof = TypedDict("SearchResultProof", {"sha256": "str", "start": "int", "end": "int", "at": "str"})

Session = TypedDict("Session", {"id": "str", "title": "NotRequired[str]", "metadata": "NotRequired[Dict[str, Any]]", "seq": "int", "lease": "NotRequired[SessionLease]", "created_at": "str", "updated_at": "str"})

SessionControl = TypedDict("SessionControl", {"id": "str", "session_id": "str", "type": "str", "text": "NotRequired[str]", "target_device_id": "NotRequired[str]", "from_device_id": "NotRequired[str]", "created_at": "str", "acked_at": "NotRequired[str]", "withdrawn_at": "NotRequired[str]"})

SessionEvent = TypedDict("SessionEvent", {"seq": "int", "type": "Literal[\"turn_start\", \"delta\", \"turn_end\", \"message\", \"tool\"]", "turn_id": "str", "id": "NotRequired[str]", "role": "NotRequired[str]", "text": "NotRequired[str]", "data": "NotRequired[Dict[str, Any]]", "device_id": "str", "at": "str"})

SessionLease = TypedDict("SessionLease", {"device_id": "str", "expires_at": "str"})

SessionsChange = TypedDict("SessionsChange", {"cursor": "str", "topic": "Literal[\"sessions\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[Session]"})

Speaker = TypedDict("Speaker", {"label": "str", "name": "Union[str, None]", "is_self": "bool", "talk_ms": "int", "utterance_count": "int"})

System = TypedDict("System", {"version": "str", "started_at": "str", "urls": "SystemUrls", "https": "bool", "checks": "List[SystemChecksItem]", "gateways": "List[SystemGatewaysItem]", "sandbox_nodes": "List[SystemSandboxNodesItem]", "providers": "List[SystemProvidersItem]", "mail": "SystemMail", "disk": "SystemDisk"})

SystemUrls = TypedDict("SystemUrls", {"base": "str", "hub": "str", "auth": "str", "relay": "str", "resolve": "str"})

SystemChecksItem = TypedDict("SystemChecksItem", {"name": "str", "ok": "bool", "detail": "str", "fix": "NotRequired[str]"})

SystemGatewaysItem = TypedDict("SystemGatewaysItem", {"id": "str", "answers_this": "bool", "part": "NotRequired[Literal[\"all\", \"gateway\", \"worker\", \"relay\"]]"})

SystemSandboxNodesItem = TypedDict("SystemSandboxNodesItem", {"id": "str", "slots": "int", "used": "int", "backends": "List[str]", "images": "List[SystemSandboxNodesItemImagesItem]"})

SystemSandboxNodesItemImagesItem = TypedDict("SystemSandboxNodesItemImagesItem", {"template": "str", "state": "Literal[\"absent\", \"building\", \"ready\", \"failed\"]", "percent": "NotRequired[int]"})

SystemProvidersItem = TypedDict("SystemProvidersItem", {"id": "str", "kind": "str", "label": "str", "healthy": "bool"})

SystemMail = TypedDict("SystemMail", {"configured": "bool", "from": "NotRequired[str]"})

SystemDisk = TypedDict("SystemDisk", {"free_bytes": "int", "total_bytes": "int"})

TargetOf1 = TypedDict("TargetOf1", {"type": "Literal[\"host\"]", "device_id": "str"})

TargetOf2 = TypedDict("TargetOf2", {"type": "Literal[\"tags\"]", "tags": "List[str]"})

TargetOf3 = TypedDict("TargetOf3", {"type": "Literal[\"any\"]"})

TargetOf4 = TypedDict("TargetOf4", {"type": "Literal[\"cloud\"]"})

TargetOf5 = TypedDict("TargetOf5", {"type": "Literal[\"cloud_vm\"]", "project_id": "str"})

TokenCount = TypedDict("TokenCount", {"input_tokens": "int"})

Transcript = TypedDict("Transcript", {"id": "str", "client_id": "Union[str, None]", "source": "str", "title": "str", "language": "Union[str, None]", "status": "Literal[\"recording\", \"queued\", \"transcribing\", \"analyzing\", \"ready\", \"failed\"]", "processing": "Union[TranscriptProcessing1, None]", "started_at": "str", "duration_ms": "Union[int, None]", "created_at": "str", "updated_at": "str", "error": "Union[str, None]", "attempts": "int", "max_attempts": "int", "last_error": "Union[str, None]", "next_attempt_at": "Union[str, None]", "audio_purged_at": "Union[str, None]", "audio_expires_at": "Union[str, None]", "tracks": "List[TranscriptTracksItem]", "folder_id": "Union[str, None]", "tags": "List[str]", "pinned_at": "Union[str, None]", "consent": "Union[str, None]", "degraded": "List[Literal[\"transcription\", \"sound\", \"tracks\", \"times\", \"insights\", \"semantic\"]]", "edits_lost": "int", "speakers": "List[Speaker]", "utterances": "List[Utterance]", "bookmarks": "List[Bookmark]", "insights": "Union[Insights, None]", "preview_text": "Union[str, None]"})

TranscriptProcessing1 = TypedDict("TranscriptProcessing1", {"step": "Literal[\"prepare\", \"window\", \"stitch\", \"insights\", \"vectors\"]", "attempts": "int", "max_attempts": "int", "last_error": "Union[str, None]", "next_attempt_at": "Union[str, None]"})

TranscriptTracksItem = TypedDict("TranscriptTracksItem", {"track": "Literal[\"mic\", \"system\", \"mixed\"]", "bytes": "int", "duration_ms": "Union[int, None]"})

TranscriptFolder = TypedDict("TranscriptFolder", {"id": "str", "name": "str", "color": "Union[str, None]", "parent_id": "Union[str, None]", "position": "int", "transcript_count": "int", "created_at": "str", "updated_at": "str"})

TranscriptShare = TypedDict("TranscriptShare", {"id": "str", "url": "None", "createdAt": "str", "expiresAt": "Union[str, None]", "lastViewedAt": "Union[str, None]", "views": "int"})

TranscriptSummary = TypedDict("TranscriptSummary", {"id": "str", "client_id": "Union[str, None]", "source": "str", "title": "str", "language": "Union[str, None]", "status": "Literal[\"recording\", \"queued\", \"transcribing\", \"analyzing\", \"ready\", \"failed\"]", "processing": "Union[TranscriptProcessing1, None]", "started_at": "str", "duration_ms": "Union[int, None]", "created_at": "str", "updated_at": "str", "error": "Union[str, None]", "attempts": "int", "max_attempts": "int", "last_error": "Union[str, None]", "next_attempt_at": "Union[str, None]", "audio_purged_at": "Union[str, None]", "audio_expires_at": "Union[str, None]", "tracks": "List[TranscriptTracksItem]", "folder_id": "Union[str, None]", "tags": "List[str]", "pinned_at": "Union[str, None]", "consent": "Union[str, None]", "degraded": "List[Literal[\"transcription\", \"sound\", \"tracks\", \"times\", \"insights\", \"semantic\"]]", "edits_lost": "int", "speakers": "List[Speaker]"})

TranscriptsChange = TypedDict("TranscriptsChange", {"cursor": "str", "topic": "Literal[\"transcripts\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str", "record": "NotRequired[TranscriptsChangeRecord]"})

TranscriptsChangeRecord = TypedDict("TranscriptsChangeRecord", {"id": "str", "status": "Literal[\"recording\", \"queued\", \"transcribing\", \"analyzing\", \"ready\", \"failed\"]", "title": "str", "updated_at": "str"})

TriggerOf1 = TypedDict("TriggerOf1", {"type": "Literal[\"cron\"]", "expr": "str", "tz": "NotRequired[str]"})

TriggerOf2 = TypedDict("TriggerOf2", {"type": "Literal[\"at\"]", "at": "str"})

TriggerOf3 = TypedDict("TriggerOf3", {"type": "Literal[\"interval\"]", "every_s": "int"})

TriggerOf4 = TypedDict("TriggerOf4", {"type": "Literal[\"event\"]", "trigger_id": "str"})

TriggerOf5 = TypedDict("TriggerOf5", {"type": "Literal[\"after\"]", "schedule_id": "str", "on": "Literal[\"success\", \"failure\", \"always\"]"})

TriggerInputOf1 = TypedDict("TriggerInputOf1", {"type": "Literal[\"cron\"]", "expr": "str", "tz": "NotRequired[Union[str, None]]"})

TriggerInputOf5 = TypedDict("TriggerInputOf5", {"type": "Literal[\"after\"]", "schedule_id": "str", "on": "NotRequired[Union[Literal[\"success\", \"failure\", \"always\"], None]]"})

Upload = TypedDict("Upload", {"id": "str", "offset": "int", "length": "int", "metadata": "Dict[str, str]", "sha256": "NotRequired[str]", "created_at": "str", "completed_at": "NotRequired[str]", "expires_at": "NotRequired[str]", "transcript_id": "NotRequired[str]"})

Usage = TypedDict("Usage", {"quotas": "List[UsageQuotasItem]"})

UsageQuotasItem = TypedDict("UsageQuotasItem", {"name": "str", "used": "int", "limit": "int"})

Utterance = TypedDict("Utterance", {"seq": "int", "speaker": "str", "track": "Literal[\"mic\", \"system\", \"mixed\"]", "start_ms": "int", "end_ms": "int", "text": "str", "original_text": "Union[str, None]", "edited_at": "Union[str, None]", "confidence": "Union[float, None]", "language": "Union[str, None]", "words": "NotRequired[List[UtteranceWordsItem]]"})

UtteranceWordsItem = TypedDict("UtteranceWordsItem", {"text": "str", "start_ms": "int", "end_ms": "int", "confidence": "Union[float, None]", "estimated": "NotRequired[Literal[True]]"})

VocabularyEntry = TypedDict("VocabularyEntry", {"term": "str", "sounds_like": "List[str]", "language": "Union[str, None]", "note": "Union[str, None]"})

VocabularyEntryInput = TypedDict("VocabularyEntryInput", {"term": "str", "sounds_like": "NotRequired[Union[List[str], None]]", "language": "NotRequired[Union[str, None]]", "note": "NotRequired[Union[str, None]]"})

Wallet = TypedDict("Wallet", {"balance_micro_eur": "int", "unpaid_micro_eur": "int", "billing": "bool"})

WalletEntry = TypedDict("WalletEntry", {"id": "str", "at": "str", "amount_micro_eur": "int", "kind": "str", "note": "str"})

Webhook = TypedDict("Webhook", {"id": "str", "name": "str", "url": "str", "broken": "NotRequired[Literal[True]]", "format": "Literal[\"svc\", \"slack\", \"ntfy\"]", "types": "NotRequired[List[str]]", "headers": "NotRequired[Dict[str, str]]", "enabled": "bool", "disabled_reason": "NotRequired[str]", "failing_since": "NotRequired[str]", "created_at": "str", "updated_at": "str"})

WebhookDelivery = TypedDict("WebhookDelivery", {"message_id": "str", "notification_id": "NotRequired[str]", "type": "str", "at": "str", "attempt": "int", "ok": "bool", "status": "NotRequired[int]", "reason": "NotRequired[str]", "duration_ms": "int", "next_attempt_at": "NotRequired[str]"})

HealthLiveAnswer = TypedDict("HealthLiveAnswer", {"ok": "bool", "features": "List[str]", "version": "str"})

HealthStatusAnswer = TypedDict("HealthStatusAnswer", {"ok": "bool", "aliases": "List[str]", "providers": "List[SystemProvidersItem]", "message": "NotRequired[str]"})

KeysListAnswer = TypedDict("KeysListAnswer", {"keys": "List[Key]", "next_cursor": "NotRequired[str]"})

KeysCreateBody = TypedDict("KeysCreateBody", {"name": "NotRequired[Union[str, None]]", "scopes": "NotRequired[Union[List[Scope], None]]", "tool_level": "NotRequired[Union[Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"], None]]", "models": "NotRequired[Union[List[str], None]]", "spend_cap_micro_usd": "NotRequired[Union[int, None]]", "expires_at": "NotRequired[Union[str, None]]", "device_id": "NotRequired[Union[str, None]]"})

KeysConnectBody = TypedDict("KeysConnectBody", {"name": "NotRequired[Union[str, None]]", "device": "NotRequired[Union[str, None]]"})

KeysUpdateBody = TypedDict("KeysUpdateBody", {"name": "NotRequired[Union[str, None]]", "status": "NotRequired[Union[Literal[\"active\", \"paused\"], None]]", "scopes": "NotRequired[Union[List[Scope], None]]", "tool_level": "NotRequired[Union[Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"], None]]", "models": "NotRequired[Union[List[str], None]]", "spend_cap_micro_usd": "NotRequired[Union[int, None]]", "expires_at": "NotRequired[Union[str, None]]"})

KeysRevokeAnswer = TypedDict("KeysRevokeAnswer", {"deleted": "Literal[True]", "id": "str", "children_revoked": "int", "children_left": "int"})

DevicesListAnswer = TypedDict("DevicesListAnswer", {"devices": "List[Device]", "next_cursor": "NotRequired[str]"})

DevicesRemoveAnswer = TypedDict("DevicesRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

MachinesListAnswer = TypedDict("MachinesListAnswer", {"machines": "List[Machine]", "next_cursor": "NotRequired[str]"})

MachinesUpdateBody = TypedDict("MachinesUpdateBody", {"name": "NotRequired[Union[str, None]]", "tags": "NotRequired[Union[List[str], None]]", "paused": "NotRequired[Union[bool, None]]", "max_parallel": "NotRequired[Union[int, None]]"})

MachinesRemoveAnswer = TypedDict("MachinesRemoveAnswer", {"deleted": "Literal[True]", "device_id": "str", "key_revoked": "bool"})

MachinesApprovalsAnswer = TypedDict("MachinesApprovalsAnswer", {"approvals": "List[MachinesApprovalsAnswerApprovalsItem]", "next_cursor": "NotRequired[str]"})

MachinesApprovalsAnswerApprovalsItem = TypedDict("MachinesApprovalsAnswerApprovalsItem", {"schedule_id": "str", "name": "str", "command": "str", "command_hash": "str", "since": "str", "line": "str"})

HostsListAnswer = TypedDict("HostsListAnswer", {"hosts": "List[Host]"})

HostsStreamReady = TypedDict("HostsStreamReady", {"device_id": "str", "since": "int"})

HostsStreamExec = TypedDict("HostsStreamExec", {"req_id": "str", "op": "str", "args": "Dict[str, Any]", "timeout_ms": "int", "from_device_id": "NotRequired[str]", "deadline": "int", "detached": "NotRequired[Literal[True]]"})

HostsStreamExecCancel = TypedDict("HostsStreamExecCancel", {"req_id": "str"})

HostsExecBody = TypedDict("HostsExecBody", {"op": "str", "args": "NotRequired[Union[Dict[str, Any], None]]", "timeout_ms": "NotRequired[Union[int, None]]", "if_offline": "NotRequired[Union[Literal[\"refuse\", \"wait\"], None]]", "detach": "NotRequired[Union[bool, None]]", "expires_in_s": "NotRequired[Union[int, None]]"})

HostsResultBody = TypedDict("HostsResultBody", {"ok": "bool", "result": "NotRequired[Any]", "error": "NotRequired[Union[str, None]]", "unknown": "NotRequired[Union[bool, None]]"})

HostsResultAnswer = TypedDict("HostsResultAnswer", {"ok": "Literal[True]"})

HostsResultsBody = TypedDict("HostsResultsBody", {"results": "List[HostsResultsBodyResultsItem]"})

HostsResultsBodyResultsItem = TypedDict("HostsResultsBodyResultsItem", {"ok": "bool", "result": "NotRequired[Any]", "error": "NotRequired[Union[str, None]]", "unknown": "NotRequired[Union[bool, None]]", "req_id": "str"})

HostsResultsAnswer = TypedDict("HostsResultsAnswer", {"taken": "List[bool]"})

HostsListExecsAnswer = TypedDict("HostsListExecsAnswer", {"execs": "List[HostExec]", "next_cursor": "NotRequired[str]"})

HostsExecOutputChunk = TypedDict("HostsExecOutputChunk", {"from": "int", "to": "int", "text": "str"})

HostsExecOutputEnd = TypedDict("HostsExecOutputEnd", {"state": "Literal[\"waiting\", \"sent\", \"running\", \"done\", \"expired\", \"cancelled\", \"unknown\"]", "bytes": "int"})

HostsAppendOutputAnswer = TypedDict("HostsAppendOutputAnswer", {"bytes": "int", "full": "bool"})

HostsStartExecBody = TypedDict("HostsStartExecBody", {"token": "str"})

HostsStartExecAnswer = TypedDict("HostsStartExecAnswer", {"state": "Literal[\"waiting\", \"sent\", \"running\", \"done\", \"expired\", \"cancelled\", \"unknown\"]"})

HostsInviteBody = TypedDict("HostsInviteBody", {"name": "NotRequired[Union[str, None]]", "device_id": "NotRequired[Union[str, None]]"})

HostsInviteAnswer = TypedDict("HostsInviteAnswer", {"code": "str", "expires_at": "str", "path": "str", "sha256": "str"})

HostsRedeemInviteBody = TypedDict("HostsRedeemInviteBody", {"code": "str", "device": "HostsRedeemInviteBodyDevice"})

HostsRedeemInviteBodyDevice = TypedDict("HostsRedeemInviteBodyDevice", {"id": "str", "name": "str"})

HostsRedeemInviteAnswer = TypedDict("HostsRedeemInviteAnswer", {"key": "str", "name": "str", "device_id": "str"})

NotificationsListAnswer = TypedDict("NotificationsListAnswer", {"notifications": "List[Notification]", "unread_count": "int", "cursor": "str", "next_cursor": "NotRequired[str]"})

NotificationsGetAnswer = TypedDict("NotificationsGetAnswer", {"notification": "Notification"})

NotificationsUpdateBody = TypedDict("NotificationsUpdateBody", {"read": "NotRequired[Union[Union[bool, None], None]]", "archived": "NotRequired[Union[Union[bool, None], None]]"})

NotificationsUpdateAnswer = TypedDict("NotificationsUpdateAnswer", {"notification": "Notification"})

NotificationsReadAllAnswer = TypedDict("NotificationsReadAllAnswer", {"updated": "int"})

NotificationsGetPreferencesAnswer = TypedDict("NotificationsGetPreferencesAnswer", {"rules": "List[NotificationRule]"})

NotificationsSetPreferencesBody = TypedDict("NotificationsSetPreferencesBody", {"rules": "List[NotificationRuleInput]"})

NotificationsSetPreferencesAnswer = TypedDict("NotificationsSetPreferencesAnswer", {"rules": "List[NotificationRule]"})

NotificationsSendTestAnswer = TypedDict("NotificationsSendTestAnswer", {"notification": "Notification", "targets": "List[NotificationsSendTestAnswerTargetsItem]"})

NotificationsSendTestAnswerTargetsItem = TypedDict("NotificationsSendTestAnswerTargetsItem", {"channel": "str", "to": "NotRequired[str]", "device_name": "NotRequired[str]", "sent": "bool", "outcome": "NotRequired[Literal[\"delivered\", \"failed\", \"pending\"]]", "status": "NotRequired[int]", "reason": "NotRequired[str]"})

NotificationsStreamReady = TypedDict("NotificationsStreamReady", {"cursor": "str", "missed": "bool"})

NotificationsStreamNotification = TypedDict("NotificationsStreamNotification", {"id": "str", "type": "NotRequired[str]", "title": "NotRequired[str]", "body": "NotRequired[str]", "url": "NotRequired[str]", "web_url": "NotRequired[str]", "severity": "NotRequired[Literal[\"info\", \"warning\", \"critical\"]]", "data": "NotRequired[Dict[str, Any]]", "created_at": "NotRequired[str]", "read_at": "NotRequired[str]", "archived_at": "NotRequired[str]", "resolved_at": "NotRequired[str]", "resolution": "NotRequired[Literal[\"approved\", \"skipped\", \"cancelled\", \"expired\", \"started\", \"done\", \"recovered\", \"resumed\", \"paused\", \"postponed\", \"accepted\", \"declined\", \"dismissed\", \"removed\"]]", "actions": "NotRequired[List[Action]]", "op": "Literal[\"created\", \"updated\"]", "cursor": "str"})

NotificationsStreamReadAll = TypedDict("NotificationsStreamReadAll", {"at": "str", "cursor": "str"})

NotificationsVapidKeyAnswer = TypedDict("NotificationsVapidKeyAnswer", {"public_key": "str"})

NotificationsListSubscriptionsAnswer = TypedDict("NotificationsListSubscriptionsAnswer", {"subscriptions": "List[NotificationsListSubscriptionsAnswerSubscriptionsItem]", "next_cursor": "NotRequired[str]"})

NotificationsListSubscriptionsAnswerSubscriptionsItem = TypedDict("NotificationsListSubscriptionsAnswerSubscriptionsItem", {"id": "str", "device_name": "str", "created_at": "str", "last_seen_at": "str", "last_delivered_at": "NotRequired[str]", "delivered_at": "NotRequired[str]", "last_error": "NotRequired[NotificationsListSubscriptionsAnswerSubscriptionsItemLastError]", "silent": "bool"})

NotificationsListSubscriptionsAnswerSubscriptionsItemLastError = TypedDict("NotificationsListSubscriptionsAnswerSubscriptionsItemLastError", {"at": "str", "status": "NotRequired[int]", "reason": "str"})

NotificationsSubscribeBody = TypedDict("NotificationsSubscribeBody", {"endpoint": "str", "keys": "NotificationsSubscribeBodyKeys", "device_name": "NotRequired[Union[str, None]]", "hide_contents": "NotRequired[Union[bool, None]]"})

NotificationsSubscribeBodyKeys = TypedDict("NotificationsSubscribeBodyKeys", {"p256dh": "str", "auth": "str"})

NotificationsSubscribeAnswer = TypedDict("NotificationsSubscribeAnswer", {"subscription": "NotificationsSubscribeAnswerSubscription"})

NotificationsSubscribeAnswerSubscription = TypedDict("NotificationsSubscribeAnswerSubscription", {"id": "str", "endpoint": "str", "created_at": "str"})

NotificationsUnsubscribeBody = TypedDict("NotificationsUnsubscribeBody", {"endpoint": "str"})

NotificationsUnsubscribeAnswer = TypedDict("NotificationsUnsubscribeAnswer", {"deleted": "Literal[True]", "id": "str"})

NotificationsRemoveSubscriptionAnswer = TypedDict("NotificationsRemoveSubscriptionAnswer", {"deleted": "Literal[True]", "id": "str"})

NotificationsPushDeliveredBody = TypedDict("NotificationsPushDeliveredBody", {"notification_id": "str"})

NotificationsPushDeliveredAnswer = TypedDict("NotificationsPushDeliveredAnswer", {"delivered_at": "str"})

NotificationsListWebhooksAnswer = TypedDict("NotificationsListWebhooksAnswer", {"webhooks": "List[Webhook]", "next_cursor": "NotRequired[str]"})

NotificationsCreateWebhookBody = TypedDict("NotificationsCreateWebhookBody", {"name": "str", "url": "str", "format": "NotRequired[Union[Literal[\"svc\", \"slack\", \"ntfy\"], None]]", "types": "NotRequired[Union[List[str], None]]", "headers": "NotRequired[Union[Dict[str, str], None]]", "enabled": "NotRequired[Union[bool, None]]"})

NotificationsUpdateWebhookBody = TypedDict("NotificationsUpdateWebhookBody", {"name": "NotRequired[Union[str, None]]", "url": "NotRequired[Union[str, None]]", "format": "NotRequired[Union[Literal[\"svc\", \"slack\", \"ntfy\"], None]]", "types": "NotRequired[Union[List[str], None]]", "headers": "NotRequired[Union[Dict[str, str], None]]", "enabled": "NotRequired[Union[Union[bool, None], None]]"})

NotificationsRemoveWebhookAnswer = TypedDict("NotificationsRemoveWebhookAnswer", {"deleted": "Literal[True]", "id": "str"})

NotificationsTestWebhookAnswer = TypedDict("NotificationsTestWebhookAnswer", {"ok": "bool", "status": "NotRequired[int]", "reason": "NotRequired[str]", "duration_ms": "int"})

NotificationsWebhookDeliveriesAnswer = TypedDict("NotificationsWebhookDeliveriesAnswer", {"deliveries": "List[WebhookDelivery]"})

HeartbeatsListAnswer = TypedDict("HeartbeatsListAnswer", {"heartbeats": "List[Heartbeat]", "next_cursor": "NotRequired[str]"})

HeartbeatsCreateBody = TypedDict("HeartbeatsCreateBody", {"name": "str", "slug": "NotRequired[Union[str, None]]", "period_s": "NotRequired[Union[int, None]]", "cron": "NotRequired[Union[str, None]]", "grace_s": "NotRequired[Union[int, None]]", "tags": "NotRequired[Union[List[str], None]]", "tz": "NotRequired[Union[str, None]]"})

HeartbeatsStreamHeartbeat = TypedDict("HeartbeatsStreamHeartbeat", {"op": "Literal[\"created\", \"updated\", \"deleted\"]", "heartbeat": "HeartbeatsStreamHeartbeatHeartbeat", "cursor": "str"})

HeartbeatsStreamHeartbeatHeartbeat = TypedDict("HeartbeatsStreamHeartbeatHeartbeat", {"id": "str", "name": "NotRequired[str]", "slug": "NotRequired[str]", "period_s": "NotRequired[int]", "cron": "NotRequired[Union[str, None]]", "grace_s": "NotRequired[int]", "tz": "NotRequired[str]", "status": "NotRequired[Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]]", "tags": "NotRequired[List[str]]", "expected_at": "NotRequired[str]", "down_since": "NotRequired[str]", "paused_until": "NotRequired[str]", "muted_until": "NotRequired[str]", "days": "NotRequired[str]", "last_ping_at": "NotRequired[str]", "last_start_at": "NotRequired[str]", "last_exit_code": "NotRequired[int]", "created_at": "NotRequired[str]", "updated_at": "NotRequired[str]"})

HeartbeatsUpdateBody = TypedDict("HeartbeatsUpdateBody", {"name": "NotRequired[Union[str, None]]", "slug": "NotRequired[Union[str, None]]", "period_s": "NotRequired[Union[int, None]]", "cron": "NotRequired[Union[str, None]]", "grace_s": "NotRequired[Union[int, None]]", "tz": "NotRequired[Union[str, None]]", "tags": "NotRequired[Union[List[str], None]]", "paused": "NotRequired[Union[bool, None]]", "paused_until": "NotRequired[Union[str, None]]", "muted_until": "NotRequired[Union[str, None]]"})

HeartbeatsRemoveAnswer = TypedDict("HeartbeatsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

HeartbeatsRotateAnswer = TypedDict("HeartbeatsRotateAnswer", {"ping_url": "str"})

HeartbeatsPingsAnswer = TypedDict("HeartbeatsPingsAnswer", {"pings": "List[Ping]"})

HeartbeatsLogAnswer = TypedDict("HeartbeatsLogAnswer", {"log": "List[HeartbeatLogEntry]", "next_cursor": "NotRequired[str]"})

HeartbeatsGetPingKeyAnswer = TypedDict("HeartbeatsGetPingKeyAnswer", {"created_at": "str"})

HeartbeatsRemovePingKeyAnswer = TypedDict("HeartbeatsRemovePingKeyAnswer", {"deleted": "Literal[True]"})

HeartbeatsListBadgesAnswer = TypedDict("HeartbeatsListBadgesAnswer", {"badges": "List[Badge]", "next_cursor": "NotRequired[str]"})

HeartbeatsRemoveBadgeAnswer = TypedDict("HeartbeatsRemoveBadgeAnswer", {"deleted": "Literal[True]"})

HeartbeatsRemoveAccountBadgeAnswer = TypedDict("HeartbeatsRemoveAccountBadgeAnswer", {"deleted": "Literal[True]"})

SchedulesListAnswer = TypedDict("SchedulesListAnswer", {"schedules": "List[Schedule]", "pause": "SchedulesListAnswerPause", "next_cursor": "NotRequired[str]"})

SchedulesListAnswerPause = TypedDict("SchedulesListAnswerPause", {"paused": "bool", "until": "NotRequired[str]", "resume_policy": "NotRequired[Literal[\"skip\", \"backfill\"]]"})

SchedulesUpcomingAnswer = TypedDict("SchedulesUpcomingAnswer", {"upcoming": "List[SchedulesUpcomingAnswerUpcomingItem]", "truncated": "bool"})

SchedulesUpcomingAnswerUpcomingItem = TypedDict("SchedulesUpcomingAnswerUpcomingItem", {"schedule_id": "str", "name": "str", "at": "str"})

SchedulesRunAnswer = TypedDict("SchedulesRunAnswer", {"queued": "bool", "run_id": "NotRequired[str]"})

SchedulesRunsAnswer = TypedDict("SchedulesRunsAnswer", {"runs": "List[Run]", "next_cursor": "NotRequired[str]"})

SchedulesApproveCommandBody = TypedDict("SchedulesApproveCommandBody", {"command_hash": "str"})

SchedulesApproveCommandAnswer = TypedDict("SchedulesApproveCommandAnswer", {"approved": "bool", "device_id": "str"})

SchedulesRevokeCommandAnswer = TypedDict("SchedulesRevokeCommandAnswer", {"approved": "bool", "device_id": "str"})

SchedulesPreviewBody = TypedDict("SchedulesPreviewBody", {"text": "NotRequired[Union[str, None]]", "trigger": "NotRequired[Any]", "tz": "NotRequired[Any]"})

SchedulesPreviewAnswer = TypedDict("SchedulesPreviewAnswer", {"ok": "bool", "reason": "NotRequired[Literal[\"not_understood\", \"invalid\"]]", "message": "NotRequired[str]", "trigger": "NotRequired[Trigger]", "next_runs": "NotRequired[List[str]]", "dst_warning": "NotRequired[bool]", "hint": "NotRequired[str]"})

SchedulesPauseBody = TypedDict("SchedulesPauseBody", {"until": "NotRequired[Union[str, None]]", "resume_policy": "NotRequired[Union[Literal[\"skip\", \"backfill\"], None]]"})

SchedulesPauseAnswer = TypedDict("SchedulesPauseAnswer", {"paused": "bool", "until": "NotRequired[str]", "resume_policy": "NotRequired[Literal[\"skip\", \"backfill\"]]"})

SchedulesResumeBody = TypedDict("SchedulesResumeBody", {"backfill": "NotRequired[Union[bool, None]]"})

SchedulesResumeAnswer = TypedDict("SchedulesResumeAnswer", {"paused": "bool", "backfilled": "int"})

SchedulesTemplatesAnswer = TypedDict("SchedulesTemplatesAnswer", {"templates": "List[SchedulesTemplatesAnswerTemplatesItem]"})

SchedulesTemplatesAnswerTemplatesItem = TypedDict("SchedulesTemplatesAnswerTemplatesItem", {"id": "str", "name": "str", "description": "str", "params": "List[SchedulesTemplatesAnswerTemplatesItemParamsItem]", "schedule": "Dict[str, Any]"})

SchedulesTemplatesAnswerTemplatesItemParamsItem = TypedDict("SchedulesTemplatesAnswerTemplatesItemParamsItem", {"name": "str", "description": "str", "required": "bool", "default": "NotRequired[str]"})

SchedulesUseTemplateBody = TypedDict("SchedulesUseTemplateBody", {"template": "str", "params": "NotRequired[Union[Dict[str, Any], None]]"})

SchedulesUseTemplateAnswer = TypedDict("SchedulesUseTemplateAnswer", {"schedule": "Schedule"})

SchedulesStreamSchedule = TypedDict("SchedulesStreamSchedule", {"op": "Literal[\"created\", \"updated\", \"deleted\", \"paused\", \"resumed\", \"run\"]", "state": "str", "schedule_id": "NotRequired[str]", "run_id": "NotRequired[str]", "attempt": "NotRequired[int]", "cursor": "str"})

SchedulerClaimBody = TypedDict("SchedulerClaimBody", {"device_id": "NotRequired[Union[str, None]]", "kinds": "NotRequired[Union[List[Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]], None]]", "tags": "NotRequired[Union[List[str], None]]", "again": "NotRequired[Union[bool, None]]", "wait_s": "NotRequired[Union[float, None]]"})

SchedulerClaimAnswer = TypedDict("SchedulerClaimAnswer", {"run": "Union[SchedulerClaimAnswerRun1, None]"})

SchedulerClaimAnswerRun1 = TypedDict("SchedulerClaimAnswerRun1", {"id": "str", "attempt": "int", "schedule_id": "str", "name": "str", "kind": "Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]", "spec": "Dict[str, Any]", "scheduled_for": "str", "timeout_s": "int", "command_hash": "NotRequired[str]", "ignore": "NotRequired[List[str]]", "lease_expires_at": "str"})

SchedulerHeartbeatBody = TypedDict("SchedulerHeartbeatBody", {"attempt": "int", "log_tail": "NotRequired[Union[str, None]]", "cost_micro_usd": "NotRequired[Union[int, None]]"})

SchedulerHeartbeatAnswer = TypedDict("SchedulerHeartbeatAnswer", {"lease_expires_at": "str", "cancel": "bool"})

SchedulerResultBody = TypedDict("SchedulerResultBody", {"attempt": "int", "ok": "bool", "exit_code": "NotRequired[Union[int, None]]", "ended_processes": "NotRequired[Union[int, None]]", "error": "NotRequired[Union[str, None]]", "log_tail": "NotRequired[Union[str, None]]", "cost_micro_usd": "NotRequired[Union[int, None]]", "session_id": "NotRequired[Union[str, None]]", "not_started": "NotRequired[Union[Literal[\"not_approved\"], None]]", "output_hash": "NotRequired[Union[str, None]]"})

SchedulerResultAnswer = TypedDict("SchedulerResultAnswer", {"run": "Run"})

SchedulerDecideBody = TypedDict("SchedulerDecideBody", {"decision": "Literal[\"approve\", \"skip\"]"})

SchedulerDecideAnswer = TypedDict("SchedulerDecideAnswer", {"run": "Run"})

SchedulerCancelAnswer = TypedDict("SchedulerCancelAnswer", {"run": "Run"})

SchedulerRunsAnswer = TypedDict("SchedulerRunsAnswer", {"runs": "List[Run]", "next_cursor": "NotRequired[str]"})

SchedulerRerunAnswer = TypedDict("SchedulerRerunAnswer", {"queued": "bool", "run_id": "NotRequired[str]"})

SchedulerLogLog = TypedDict("SchedulerLogLog", {"from": "int", "text": "str"})

SchedulerLogEnd = TypedDict("SchedulerLogEnd", {"state": "str", "bytes": "int"})

SchedulerAppendLogAnswer = TypedDict("SchedulerAppendLogAnswer", {"bytes": "int", "full": "bool"})

SchedulerHostsAnswer = TypedDict("SchedulerHostsAnswer", {"hosts": "List[SchedulerHost]", "next_cursor": "NotRequired[str]"})

SchedulerUpdateHostBody = TypedDict("SchedulerUpdateHostBody", {"name": "NotRequired[Union[str, None]]", "tags": "NotRequired[Union[List[str], None]]", "paused": "NotRequired[Union[bool, None]]", "max_parallel": "NotRequired[Union[int, None]]"})

SchedulerRemoveHostAnswer = TypedDict("SchedulerRemoveHostAnswer", {"deleted": "Literal[True]", "id": "str"})

SchedulerReportNativeBody = TypedDict("SchedulerReportNativeBody", {"schedule_id": "str", "scheduled_for": "str", "started_at": "str", "finished_at": "str", "ok": "bool", "exit_code": "NotRequired[Union[int, None]]", "ended_processes": "NotRequired[Union[int, None]]", "error": "NotRequired[Union[str, None]]", "log_tail": "NotRequired[Union[str, None]]"})

SchedulerReportNativeAnswer = TypedDict("SchedulerReportNativeAnswer", {"run": "Run"})

SchedulerFireAnswer = TypedDict("SchedulerFireAnswer", {"queued": "int"})

SandboxesWriteFileAnswer = TypedDict("SandboxesWriteFileAnswer", {"path": "str", "bytes": "int", "sha256": "str", "generation": "int"})

SandboxesListFilesAnswer = TypedDict("SandboxesListFilesAnswer", {"entries": "List[SandboxesListFilesAnswerEntriesItem]"})

SandboxesListFilesAnswerEntriesItem = TypedDict("SandboxesListFilesAnswerEntriesItem", {"path": "str", "bytes": "int", "type": "Literal[\"file\", \"directory\", \"symlink\", \"other\"]", "mtime": "str"})

SandboxesArtifactsAnswer = TypedDict("SandboxesArtifactsAnswer", {"data": "List[Artifact]"})

SandboxesSnapshotBody = TypedDict("SandboxesSnapshotBody", {"name": "NotRequired[Union[str, None]]"})

SandboxesSnapshotAnswer = TypedDict("SandboxesSnapshotAnswer", {"object": "Literal[\"snapshot\"]", "id": "str", "name": "NotRequired[str]", "bytes": "int", "sha256": "str", "scan": "Literal[\"clean\", \"infected\", \"error\"]", "url": "NotRequired[str]", "expires_at": "str"})

SandboxesPreviewBody = TypedDict("SandboxesPreviewBody", {"port": "int", "ttl_seconds": "NotRequired[Union[int, None]]"})

SandboxesPreviewAnswer = TypedDict("SandboxesPreviewAnswer", {"port": "int", "url": "str", "expires_at": "str"})

SandboxesListAnswer = TypedDict("SandboxesListAnswer", {"object": "Literal[\"list\"]", "data": "List[Sandbox]", "next_cursor": "NotRequired[str]"})

SandboxesStreamSandbox = TypedDict("SandboxesStreamSandbox", {"op": "Literal[\"created\", \"updated\", \"deleted\"]", "sandbox": "SandboxesStreamSandboxSandbox", "cursor": "str"})

SandboxesStreamSandboxSandbox = TypedDict("SandboxesStreamSandboxSandbox", {"id": "str", "object": "NotRequired[Literal[\"sandbox\"]]", "status": "NotRequired[Literal[\"running\", \"paused\", \"stopped\", \"expired\", \"destroyed\"]]", "backend": "NotRequired[Literal[\"v1\", \"v2\"]]", "restored": "NotRequired[bool]", "template": "NotRequired[Literal[\"svc-base\", \"office-acte\", \"desktop\"]]", "egress": "NotRequired[Union[NewSandboxEgress11, ResumedSandboxEgress2, NewSandboxEgress13]]", "created_at": "NotRequired[str]", "expires_at": "NotRequired[str]", "last_exec_at": "NotRequired[Union[str, None]]", "metadata": "NotRequired[Dict[str, str]]", "usage": "NotRequired[ResumedSandboxUsage]", "ended_after_resume": "NotRequired[List[EndedProcess]]", "parent_id": "NotRequired[str]", "name": "NotRequired[str]", "cost_micro_eur": "NotRequired[int]"})

SandboxesEventsAnswer = TypedDict("SandboxesEventsAnswer", {"events": "List[SandboxEvent]", "next_cursor": "NotRequired[str]"})

SandboxesRunCodeBody = TypedDict("SandboxesRunCodeBody", {"code": "str", "timeout_seconds": "NotRequired[Union[int, None]]"})

SandboxesResetKernelAnswer = TypedDict("SandboxesResetKernelAnswer", {"id": "str", "reset": "Literal[True]"})

SandboxesPauseBody = TypedDict("SandboxesPauseBody", {"files_only": "NotRequired[Union[bool, None]]"})

SandboxesForkBody = TypedDict("SandboxesForkBody", {"count": "int", "ttl_seconds": "NotRequired[Union[int, None]]"})

SandboxesForkAnswer = TypedDict("SandboxesForkAnswer", {"object": "Literal[\"list\"]", "parent_id": "str", "data": "List[ForkedSandbox]"})

UsageRequestsAnswer = TypedDict("UsageRequestsAnswer", {"usage": "List[UsageRequestsAnswerUsageItem]"})

UsageRequestsAnswerUsageItem = TypedDict("UsageRequestsAnswerUsageItem", {"group": "str", "requests": "int", "errors": "int", "bytes": "int", "cost_micro_usd": "int", "exec_seconds": "int"})

WalletEntriesAnswer = TypedDict("WalletEntriesAnswer", {"entries": "List[WalletEntry]", "next_cursor": "NotRequired[str]"})

ChatCompletionsBody = TypedDict("ChatCompletionsBody", {"model": "str", "messages": "List[AnthropicMessageContentItem]", "stream": "NotRequired[Union[bool, None]]", "tools": "NotRequired[Union[List[AnthropicMessageContentItem], None]]", "container": "NotRequired[Union[Union[str, AnthropicMessageContentItem], None]]"})

MessagesCreateBody = TypedDict("MessagesCreateBody", {"model": "str", "messages": "List[AnthropicMessageContentItem]", "max_tokens": "int", "stream": "NotRequired[Union[bool, None]]", "tools": "NotRequired[Union[List[AnthropicMessageContentItem], None]]", "container": "NotRequired[Union[Union[str, AnthropicMessageContentItem], None]]"})

MessagesCountTokensBody = TypedDict("MessagesCountTokensBody", {"model": "str", "messages": "List[AnthropicMessageContentItem]"})

ResponsesCreateBody = TypedDict("ResponsesCreateBody", {"model": "str", "input": "NotRequired[Union[str, List[AnthropicMessageContentItem], None]]", "stream": "NotRequired[Union[bool, None]]"})

EmbeddingsCreateBody = TypedDict("EmbeddingsCreateBody", {"model": "str", "input": "Union[str, List[Any]]"})

ModelsListAnswer = TypedDict("ModelsListAnswer", {"object": "Literal[\"list\"]", "data": "List[Model]", "has_more": "Literal[False]", "first_id": "Union[str, None]", "last_id": "Union[str, None]"})

AudioSpeechBody = TypedDict("AudioSpeechBody", {"model": "str", "input": "str"})

TokensCreateBody = TypedDict("TokensCreateBody", {"scope": "Literal[\"realtime\", \"audio\", \"embeddings\"]", "ttl": "NotRequired[Union[int, None]]"})

SessionsListAnswer = TypedDict("SessionsListAnswer", {"sessions": "List[Session]", "next_cursor": "NotRequired[str]"})

SessionsCreateBody = TypedDict("SessionsCreateBody", {"title": "NotRequired[Union[str, None]]", "metadata": "NotRequired[Union[Dict[str, Any], None]]"})

SessionsUpdateBody = TypedDict("SessionsUpdateBody", {"title": "NotRequired[Union[str, None]]", "metadata": "NotRequired[Union[Dict[str, Any], None]]"})

SessionsRemoveAnswer = TypedDict("SessionsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

SessionsTakeLeaseAnswer = TypedDict("SessionsTakeLeaseAnswer", {"lease": "SessionLease"})

SessionsDropLeaseAnswer = TypedDict("SessionsDropLeaseAnswer", {"released": "bool"})

SessionsAppendBody = TypedDict("SessionsAppendBody", {"expected_seq": "int", "events": "List[NewSessionEvent]"})

SessionsAppendAnswer = TypedDict("SessionsAppendAnswer", {"seq": "int"})

SessionsEventsAnswer = TypedDict("SessionsEventsAnswer", {"events": "List[SessionEvent]", "seq": "int"})

SessionsFollowLease = TypedDict("SessionsFollowLease", {"lease": "NotRequired[SessionLease]"})

SessionsSendControlBody = TypedDict("SessionsSendControlBody", {"type": "str", "text": "NotRequired[Union[str, None]]", "target_device_id": "NotRequired[Union[str, None]]"})

PromptsListAnswer = TypedDict("PromptsListAnswer", {"prompts": "List[Prompt]", "next_cursor": "NotRequired[str]"})

PromptsCreateBody = TypedDict("PromptsCreateBody", {"prompt": "str", "source": "NotRequired[Union[str, None]]", "goal_key": "NotRequired[Union[str, None]]", "not_before": "NotRequired[Union[str, None]]", "auto_run": "NotRequired[Union[bool, None]]", "target_device_id": "NotRequired[Union[str, None]]"})

PromptsCreateAnswer = TypedDict("PromptsCreateAnswer", {"created": "bool", "id": "str", "prompt": "Prompt"})

PromptsStreamPrompt = TypedDict("PromptsStreamPrompt", {"op": "Literal[\"create\", \"update\", \"delete\"]", "prompt": "PromptsStreamPromptPrompt", "cursor": "str"})

PromptsStreamPromptPrompt = TypedDict("PromptsStreamPromptPrompt", {"id": "str", "prompt": "NotRequired[str]", "text_hash": "NotRequired[str]", "source": "NotRequired[str]", "goal_key": "NotRequired[str]", "not_before": "NotRequired[str]", "auto_run": "NotRequired[bool]", "target_device_id": "NotRequired[str]", "status": "NotRequired[Literal[\"open\", \"launched\", \"sent\", \"answered\", \"verified\", \"done\", \"dismissed\", \"superseded\"]]", "match_ref": "NotRequired[str]", "match_turn_id": "NotRequired[str]", "run_session_id": "NotRequired[str]", "waiting_for": "NotRequired[str]", "last_turn": "NotRequired[PromptTurn]", "report": "NotRequired[PromptReport]", "created_at": "NotRequired[str]", "updated_at": "NotRequired[str]", "launched_at": "NotRequired[str]", "sent_at": "NotRequired[str]", "answered_at": "NotRequired[str]", "verified_at": "NotRequired[str]", "superseded_by": "NotRequired[str]"})

PromptsVerifyAllBody = TypedDict("PromptsVerifyAllBody", {"ids": "NotRequired[Union[List[str], None]]", "cursor": "NotRequired[Union[str, None]]"})

PromptsVerifyAllAnswer = TypedDict("PromptsVerifyAllAnswer", {"results": "List[PromptsVerifyAllAnswerResultsItem]", "next_cursor": "NotRequired[str]"})

PromptsVerifyAllAnswerResultsItem = TypedDict("PromptsVerifyAllAnswerResultsItem", {"id": "str", "ok": "bool", "prompt": "NotRequired[Prompt]", "error": "NotRequired[PromptsVerifyAllAnswerResultsItemError]"})

PromptsVerifyAllAnswerResultsItemError = TypedDict("PromptsVerifyAllAnswerResultsItemError", {"code": "str", "message": "str"})

PromptsGetAnswer = TypedDict("PromptsGetAnswer", {"prompt": "Prompt"})

PromptsUpdateBody = TypedDict("PromptsUpdateBody", {"not_before": "NotRequired[Union[str, None]]", "status": "NotRequired[Union[Literal[\"open\", \"done\", \"dismissed\"], None]]", "auto_run": "NotRequired[Union[Union[bool, None], None]]", "target_device_id": "NotRequired[Union[str, None]]", "stop": "NotRequired[Union[bool, None]]"})

PromptsUpdateAnswer = TypedDict("PromptsUpdateAnswer", {"prompt": "Prompt"})

PromptsRemoveAnswer = TypedDict("PromptsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

PromptsLaunchBody = TypedDict("PromptsLaunchBody", {"target_device_id": "NotRequired[Union[str, None]]", "force": "NotRequired[Union[bool, None]]", "stop": "NotRequired[Union[bool, None]]"})

PromptsLaunchAnswer = TypedDict("PromptsLaunchAnswer", {"prompt": "Prompt"})

PromptsMatchBody = TypedDict("PromptsMatchBody", {"match_ref": "str", "match_turn_id": "str"})

PromptsMatchAnswer = TypedDict("PromptsMatchAnswer", {"prompt": "Prompt"})

PromptsVerifyBody = TypedDict("PromptsVerifyBody", {"diff": "NotRequired[Union[str, None]]", "files": "NotRequired[Union[List[PromptsVerifyBodyFilesItem], None]]"})

PromptsVerifyBodyFilesItem = TypedDict("PromptsVerifyBodyFilesItem", {"path": "str", "content": "str"})

PromptsVerifyAnswer = TypedDict("PromptsVerifyAnswer", {"prompt": "Prompt"})

ToolsSearchBody = TypedDict("ToolsSearchBody", {"query": "str", "limit": "NotRequired[Union[int, None]]", "domains": "NotRequired[Union[List[str], None]]", "exclude_domains": "NotRequired[Union[List[str], None]]", "freshness": "NotRequired[Union[Literal[\"day\", \"week\", \"month\", \"year\"], None]]", "lang": "NotRequired[Union[str, None]]"})

ToolsFetchBody = TypedDict("ToolsFetchBody", {"url": "str", "max_chars": "NotRequired[Union[int, None]]", "format": "NotRequired[Union[Literal[\"text\", \"markdown\", \"html\"], None]]"})

TranscriptsListAnswer = TypedDict("TranscriptsListAnswer", {"transcripts": "List[TranscriptSummary]", "next_cursor": "NotRequired[str]"})

TranscriptsCreateBody = TypedDict("TranscriptsCreateBody", {"client_id": "NotRequired[Union[str, None]]", "started_at": "NotRequired[Union[str, None]]", "source": "NotRequired[Union[str, None]]", "title": "NotRequired[Union[str, None]]", "language": "NotRequired[Union[str, None]]", "folder_id": "NotRequired[Union[str, None]]", "tags": "NotRequired[Union[List[str], None]]", "consent": "NotRequired[Union[str, None]]"})

TranscriptsCreateAnswer = TypedDict("TranscriptsCreateAnswer", {"transcript": "Transcript"})

TranscriptsUsageAnswer = TypedDict("TranscriptsUsageAnswer", {"period_start": "str", "period_end": "str", "limit_ms": "int", "heard": "bool", "used_ms": "int", "reserved_ms": "int", "remaining_ms": "int", "max_recording_ms": "int", "recordings": "int"})

TranscriptsStreamTranscript = TypedDict("TranscriptsStreamTranscript", {"op": "Literal[\"created\", \"updated\", \"deleted\", \"live\"]", "id": "str", "status": "NotRequired[Literal[\"recording\", \"queued\", \"transcribing\", \"analyzing\", \"ready\", \"failed\"]]", "cursor": "NotRequired[str]", "live": "NotRequired[TranscriptsStreamTranscriptLive]"})

TranscriptsStreamTranscriptLive = TypedDict("TranscriptsStreamTranscriptLive", {"finals": "List[TranscriptsStreamTranscriptLiveFinalsItem]", "partial": "NotRequired[str]", "level": "NotRequired[float]", "device": "NotRequired[str]", "elapsed_ms": "NotRequired[int]", "paused": "NotRequired[bool]"})

TranscriptsStreamTranscriptLiveFinalsItem = TypedDict("TranscriptsStreamTranscriptLiveFinalsItem", {"text": "str", "speaker": "NotRequired[str]", "track": "NotRequired[str]", "start_ms": "int", "end_ms": "int"})

TranscriptsSearchAnswer = TypedDict("TranscriptsSearchAnswer", {"results": "List[TranscriptsSearchAnswerResultsItem]", "mode": "str", "took_ms": "int", "degraded": "List[Literal[\"semantic\"]]", "next_cursor": "NotRequired[str]"})

TranscriptsSearchAnswerResultsItem = TypedDict("TranscriptsSearchAnswerResultsItem", {"transcript_id": "str", "title": "str", "started_at": "str", "folder_id": "Union[str, None]", "seq": "int", "speaker": "PublicTranscriptSpeakersItem", "start_ms": "int", "end_ms": "int", "passage": "TranscriptsSearchAnswerResultsItemPassage", "snippet": "str", "highlights": "List[List[int]]", "score": "float", "matched": "List[Literal[\"words\", \"name\", \"meaning\"]]"})

TranscriptsSearchAnswerResultsItemPassage = TypedDict("TranscriptsSearchAnswerResultsItemPassage", {"seq": "int", "to_seq": "int", "start_ms": "int", "end_ms": "int"})

TranscriptsAskBody = TypedDict("TranscriptsAskBody", {"question": "str", "transcript_ids": "NotRequired[Union[List[str], None]]", "folder_id": "NotRequired[Union[str, None]]", "tag": "NotRequired[Union[str, None]]", "from": "NotRequired[Union[str, None]]", "to": "NotRequired[Union[str, None]]"})

TranscriptsAskAnswer = TypedDict("TranscriptsAskAnswer", {"answer": "str", "citations": "List[TranscriptsAskAnswerCitationsItem]", "transcripts_searched": "int", "model": "str", "took_ms": "int", "degraded": "List[Literal[\"semantic\", \"insights\"]]"})

TranscriptsAskAnswerCitationsItem = TypedDict("TranscriptsAskAnswerCitationsItem", {"n": "int", "transcript_id": "str", "title": "str", "seq": "int", "speaker": "str", "speaker_name": "Union[str, None]", "start_ms": "int", "end_ms": "int", "quote": "str"})

TranscriptsWordsAnswer = TypedDict("TranscriptsWordsAnswer", {"utterances": "List[Utterance]", "next_cursor": "NotRequired[str]"})

TranscriptsGetAnswer = TypedDict("TranscriptsGetAnswer", {"transcript": "Transcript"})

TranscriptsUpdateBody = TypedDict("TranscriptsUpdateBody", {"title": "NotRequired[Union[str, None]]", "language": "NotRequired[Union[str, None]]", "folder_id": "NotRequired[Union[str, None]]", "tags": "NotRequired[Union[List[str], None]]", "pinned": "NotRequired[Union[Union[bool, None], None]]", "consent": "NotRequired[Union[str, None]]"})

TranscriptsUpdateAnswer = TypedDict("TranscriptsUpdateAnswer", {"transcript": "Transcript"})

TranscriptsRemoveAnswer = TypedDict("TranscriptsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

TranscriptsFinalizeBody = TypedDict("TranscriptsFinalizeBody", {"duration_ms": "int", "uploads": "List[TranscriptsFinalizeBodyUploadsItem]", "bookmarks": "NotRequired[Union[List[TranscriptsFinalizeBodyBookmarksItem], None]]", "preview_text": "NotRequired[Union[str, None]]"})

TranscriptsFinalizeBodyUploadsItem = TypedDict("TranscriptsFinalizeBodyUploadsItem", {"track": "Literal[\"mic\", \"system\", \"mixed\"]", "upload_id": "str"})

TranscriptsFinalizeBodyBookmarksItem = TypedDict("TranscriptsFinalizeBodyBookmarksItem", {"at_ms": "int", "note": "NotRequired[Union[str, None]]"})

TranscriptsFinalizeAnswer = TypedDict("TranscriptsFinalizeAnswer", {"transcript": "Transcript"})

TranscriptsRetranscribeAnswer = TypedDict("TranscriptsRetranscribeAnswer", {"transcript": "Transcript"})

TranscriptsReanalyzeAnswer = TypedDict("TranscriptsReanalyzeAnswer", {"transcript": "Transcript"})

TranscriptsLiveBody = TypedDict("TranscriptsLiveBody", {"finals": "NotRequired[Union[List[TranscriptsLiveBodyFinalsItem], None]]", "partial": "NotRequired[Union[str, None]]", "level": "NotRequired[Union[float, None]]", "device": "NotRequired[Union[str, None]]", "elapsed_ms": "NotRequired[Union[int, None]]", "paused": "NotRequired[Union[bool, None]]"})

TranscriptsLiveBodyFinalsItem = TypedDict("TranscriptsLiveBodyFinalsItem", {"text": "str", "speaker": "NotRequired[Union[str, None]]", "track": "NotRequired[Union[Literal[\"mic\", \"system\", \"mixed\"], None]]", "start_ms": "int", "end_ms": "int"})

TranscriptsLiveAnswer = TypedDict("TranscriptsLiveAnswer", {"accepted": "bool"})

TranscriptsBookmarkBody = TypedDict("TranscriptsBookmarkBody", {"at_ms": "int", "note": "NotRequired[Union[str, None]]"})

TranscriptsBookmarkAnswer = TypedDict("TranscriptsBookmarkAnswer", {"bookmark": "Bookmark"})

TranscriptsRemoveBookmarkAnswer = TypedDict("TranscriptsRemoveBookmarkAnswer", {"deleted": "Literal[True]", "id": "str"})

TranscriptsUpdateSpeakerBody = TypedDict("TranscriptsUpdateSpeakerBody", {"name": "NotRequired[Union[str, None]]", "is_self": "NotRequired[Union[Union[bool, None], None]]"})

TranscriptsUpdateSpeakerAnswer = TypedDict("TranscriptsUpdateSpeakerAnswer", {"speaker": "Speaker", "speakers": "List[Speaker]"})

TranscriptsUpdateUtteranceBody = TypedDict("TranscriptsUpdateUtteranceBody", {"text": "NotRequired[Union[str, None]]", "speaker": "NotRequired[Union[str, None]]"})

TranscriptsUpdateUtteranceAnswer = TypedDict("TranscriptsUpdateUtteranceAnswer", {"utterance": "Utterance"})

TranscriptsAcceptPromptAnswer = TypedDict("TranscriptsAcceptPromptAnswer", {"created": "bool", "id": "str", "prompt": "Prompt"})

TranscriptsAudioAnswer = TypedDict("TranscriptsAudioAnswer", {"tracks": "List[TranscriptsAudioAnswerTracksItem]"})

TranscriptsAudioAnswerTracksItem = TypedDict("TranscriptsAudioAnswerTracksItem", {"track": "Literal[\"mic\", \"system\", \"mixed\"]", "url": "str", "expires_at": "str", "content_type": "str", "bytes": "int", "duration_ms": "Union[int, None]"})

TranscriptsShareBody = TypedDict("TranscriptsShareBody", {"expiresInDays": "NotRequired[Union[int, None]]"})

TranscriptsShareAnswer = TypedDict("TranscriptsShareAnswer", {"id": "str", "token": "str", "url": "str", "expiresAt": "Union[str, None]"})

TranscriptsListSharesAnswer = TypedDict("TranscriptsListSharesAnswer", {"shares": "List[TranscriptShare]", "next_cursor": "NotRequired[str]"})

TranscriptsRevokeShareAnswer = TypedDict("TranscriptsRevokeShareAnswer", {"deleted": "Literal[True]", "id": "str"})

TranscriptsListFoldersAnswer = TypedDict("TranscriptsListFoldersAnswer", {"folders": "List[TranscriptFolder]", "next_cursor": "NotRequired[str]"})

TranscriptsCreateFolderBody = TypedDict("TranscriptsCreateFolderBody", {"name": "str", "color": "NotRequired[Union[str, None]]", "parent_id": "NotRequired[Union[str, None]]", "position": "NotRequired[Union[int, None]]"})

TranscriptsCreateFolderAnswer = TypedDict("TranscriptsCreateFolderAnswer", {"folder": "TranscriptFolder"})

TranscriptsGetFolderAnswer = TypedDict("TranscriptsGetFolderAnswer", {"folder": "TranscriptFolder"})

TranscriptsUpdateFolderBody = TypedDict("TranscriptsUpdateFolderBody", {"name": "NotRequired[Union[str, None]]", "color": "NotRequired[Union[str, None]]", "parent_id": "NotRequired[Union[str, None]]", "position": "NotRequired[Union[int, None]]"})

TranscriptsUpdateFolderAnswer = TypedDict("TranscriptsUpdateFolderAnswer", {"folder": "TranscriptFolder"})

TranscriptsRemoveFolderAnswer = TypedDict("TranscriptsRemoveFolderAnswer", {"deleted": "Literal[True]", "id": "str"})

TranscriptsVocabularyAnswer = TypedDict("TranscriptsVocabularyAnswer", {"entries": "List[VocabularyEntry]", "updated_at": "Union[str, None]"})

TranscriptsSetVocabularyBody = TypedDict("TranscriptsSetVocabularyBody", {"entries": "List[VocabularyEntryInput]"})

TranscriptsSetVocabularyAnswer = TypedDict("TranscriptsSetVocabularyAnswer", {"entries": "List[VocabularyEntry]", "updated_at": "Union[str, None]"})

ProjectsListAnswer = TypedDict("ProjectsListAnswer", {"projects": "List[Project]", "next_cursor": "NotRequired[str]"})

ProjectsCreateBody = TypedDict("ProjectsCreateBody", {"name": "str", "repo_url": "NotRequired[Union[str, None]]", "isolation": "NotRequired[Union[Literal[\"shared_vm\", \"container\", \"vm_per_dev\"], None]]", "org_id": "NotRequired[Union[str, None]]", "slug": "NotRequired[Union[str, None]]", "default_branch": "NotRequired[Union[str, None]]", "devcontainer_path": "NotRequired[Union[str, None]]", "settings": "NotRequired[Union[Dict[str, Any], None]]"})

ProjectsCreateAnswer = TypedDict("ProjectsCreateAnswer", {"project": "Project"})

ProjectsGetAnswer = TypedDict("ProjectsGetAnswer", {"project": "Project", "environments": "List[Environment]"})

ProjectsUpdateBody = TypedDict("ProjectsUpdateBody", {"name": "NotRequired[Union[str, None]]", "repo_url": "NotRequired[Union[str, None]]", "isolation": "NotRequired[Union[Literal[\"shared_vm\", \"container\", \"vm_per_dev\"], None]]", "default_branch": "NotRequired[Union[str, None]]", "devcontainer_path": "NotRequired[Union[str, None]]", "settings": "NotRequired[Union[Dict[str, Any], None]]", "slug": "NotRequired[Union[Any, None]]"})

ProjectsUpdateAnswer = TypedDict("ProjectsUpdateAnswer", {"project": "Project"})

ProjectsRemoveAnswer = TypedDict("ProjectsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

EnvironmentsListAnswer = TypedDict("EnvironmentsListAnswer", {"environments": "List[Environment]", "next_cursor": "NotRequired[str]"})

EnvironmentsCreateBody = TypedDict("EnvironmentsCreateBody", {"project_id": "str", "provider": "Literal[\"byo\", \"managed_a\", \"managed_b\"]", "name": "NotRequired[Union[str, None]]", "slug": "NotRequired[Union[str, None]]", "size": "NotRequired[Union[Literal[\"small\", \"medium\", \"large\"], None]]", "region": "NotRequired[Union[str, None]]", "idle_timeout_minutes": "NotRequired[Union[int, None]]", "budget_micro_eur": "NotRequired[Union[int, None]]"})

EnvironmentsCreateAnswer = TypedDict("EnvironmentsCreateAnswer", {"environment": "Environment"})

EnvironmentsGetAnswer = TypedDict("EnvironmentsGetAnswer", {"environment": "Environment", "isolation": "str", "role": "Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"]", "user_id": "str", "members": "List[EnvironmentsGetAnswerMembersItem]", "ports": "List[EnvironmentsGetAnswerPortsItem]", "events": "List[EnvironmentsGetAnswerEventsItem]"})

EnvironmentsGetAnswerMembersItem = TypedDict("EnvironmentsGetAnswerMembersItem", {"user_id": "str", "role": "Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"]", "email": "str", "name": "Union[str, None]", "linux_username": "str", "port_range_start": "int", "ssh_public_key": "bool", "provisioned_at": "Union[str, None]", "created_at": "str", "accepted_at": "Union[str, None]", "agreed_to_own": "NotRequired[bool]"})

EnvironmentsGetAnswerPortsItem = TypedDict("EnvironmentsGetAnswerPortsItem", {"id": "str", "environmentId": "str", "port": "int", "protocol": "Literal[\"http\"]", "label": "Union[str, None]", "visibility": "Literal[\"owner\", \"org\", \"authenticated\", \"public\"]", "openedByUserId": "Union[str, None]", "createdAt": "str", "updatedAt": "str"})

EnvironmentsGetAnswerEventsItem = TypedDict("EnvironmentsGetAnswerEventsItem", {"id": "int", "environmentId": "str", "actorUserId": "Union[str, None]", "actorKind": "Literal[\"user\", \"daemon\", \"system\"]", "kind": "str", "payload": "Dict[str, Any]", "createdAt": "str"})

EnvironmentsUpdateBody = TypedDict("EnvironmentsUpdateBody", {"name": "NotRequired[Union[str, None]]", "idle_timeout_minutes": "NotRequired[Union[int, None]]", "slug": "NotRequired[Union[Any, None]]"})

EnvironmentsUpdateAnswer = TypedDict("EnvironmentsUpdateAnswer", {"environment": "Environment"})

EnvironmentsStartAnswer = TypedDict("EnvironmentsStartAnswer", {"environment": "Environment", "from": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]", "to": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]"})

EnvironmentsStopAnswer = TypedDict("EnvironmentsStopAnswer", {"environment": "Environment", "from": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]", "to": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]"})

EnvironmentsArchiveAnswer = TypedDict("EnvironmentsArchiveAnswer", {"environment": "Environment", "from": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]", "to": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]"})

EnvironmentsDestroyAnswer = TypedDict("EnvironmentsDestroyAnswer", {"environment": "Environment", "from": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]", "to": "Literal[\"pending\", \"creating\", \"enrolling\", \"running\", \"stopping\", \"stopped\", \"starting\", \"archived\", \"failed\", \"destroying\", \"destroyed\"]"})

EnvironmentsEventsAnswer = TypedDict("EnvironmentsEventsAnswer", {"events": "List[EnvironmentsGetAnswerEventsItem]", "next_cursor": "NotRequired[str]"})

EnvironmentsEnrollTokenAnswer = TypedDict("EnvironmentsEnrollTokenAnswer", {"token": "str", "expires_at": "str", "environment_id": "str"})

EnvironmentsEnrollBody = TypedDict("EnvironmentsEnrollBody", {"token": "str", "device_id": "str", "daemon_version": "str", "os": "str", "arch": "str"})

EnvironmentsEnrollAnswer = TypedDict("EnvironmentsEnrollAnswer", {"environment_id": "str", "relay_url": "str", "api_key": "NotRequired[str]"})

EnvironmentsListMembersAnswer = TypedDict("EnvironmentsListMembersAnswer", {"members": "List[EnvironmentsGetAnswerMembersItem]"})

EnvironmentsAddMemberBody = TypedDict("EnvironmentsAddMemberBody", {"email": "str", "role": "Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"]"})

EnvironmentsAddMemberAnswer = TypedDict("EnvironmentsAddMemberAnswer", {"member": "EnvironmentsAddMemberAnswerMember"})

EnvironmentsAddMemberAnswerMember = TypedDict("EnvironmentsAddMemberAnswerMember", {"user_id": "str", "role": "Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"]", "linux_username": "str", "port_range_start": "int", "accepted_at": "Union[str, None]", "agreed_to_own": "NotRequired[bool]"})

EnvironmentsListInvitationsAnswer = TypedDict("EnvironmentsListInvitationsAnswer", {"invitations": "List[EnvironmentsListInvitationsAnswerInvitationsItem]"})

EnvironmentsListInvitationsAnswerInvitationsItem = TypedDict("EnvironmentsListInvitationsAnswerInvitationsItem", {"user_id": "str", "environment_id": "str", "environment_name": "str", "role": "Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"]", "invited_by": "EnvironmentsListInvitationsAnswerInvitationsItemInvitedBy", "created_at": "str"})

EnvironmentsListInvitationsAnswerInvitationsItemInvitedBy = TypedDict("EnvironmentsListInvitationsAnswerInvitationsItemInvitedBy", {"user_id": "str", "email": "str"})

EnvironmentsAcceptInvitationBody = TypedDict("EnvironmentsAcceptInvitationBody", {"role": "NotRequired[Union[Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"], None]]"})

EnvironmentsAcceptInvitationAnswer = TypedDict("EnvironmentsAcceptInvitationAnswer", {"member": "EnvironmentsAddMemberAnswerMember"})

EnvironmentsSetSshKeyBody = TypedDict("EnvironmentsSetSshKeyBody", {"public_key": "str"})

EnvironmentsSetSshKeyAnswer = TypedDict("EnvironmentsSetSshKeyAnswer", {"user_id": "str", "ssh_public_key": "Literal[True]"})

EnvironmentsUpdateMemberBody = TypedDict("EnvironmentsUpdateMemberBody", {"role": "Literal[\"viewer\", \"developer\", \"maintainer\", \"owner\"]"})

EnvironmentsUpdateMemberAnswer = TypedDict("EnvironmentsUpdateMemberAnswer", {"member": "EnvironmentsAddMemberAnswerMember"})

EnvironmentsRemoveMemberAnswer = TypedDict("EnvironmentsRemoveMemberAnswer", {"deleted": "Literal[True]", "user_id": "str"})

EnvironmentsListPortsAnswer = TypedDict("EnvironmentsListPortsAnswer", {"ports": "List[EnvironmentsGetAnswerPortsItem]"})

EnvironmentsPublishPortBody = TypedDict("EnvironmentsPublishPortBody", {"visibility": "Literal[\"owner\", \"org\", \"authenticated\", \"public\"]", "label": "NotRequired[Union[str, None]]", "protocol": "NotRequired[Union[Literal[\"http\"], None]]"})

EnvironmentsPublishPortAnswer = TypedDict("EnvironmentsPublishPortAnswer", {"port": "EnvironmentsGetAnswerPortsItem"})

EnvironmentsRemovePortAnswer = TypedDict("EnvironmentsRemovePortAnswer", {"deleted": "Literal[True]", "port": "int"})

EnvironmentsLinkPortAnswer = TypedDict("EnvironmentsLinkPortAnswer", {"url": "str", "expires_at": "Union[str, None]"})

EnvironmentsListSecretsAnswer = TypedDict("EnvironmentsListSecretsAnswer", {"secrets": "List[EnvironmentsListSecretsAnswerSecretsItem]"})

EnvironmentsListSecretsAnswerSecretsItem = TypedDict("EnvironmentsListSecretsAnswerSecretsItem", {"name": "str", "created_by_user_id": "Union[str, None]", "created_at": "str", "updated_at": "str"})

EnvironmentsSetSecretBody = TypedDict("EnvironmentsSetSecretBody", {"value": "str"})

EnvironmentsSetSecretAnswer = TypedDict("EnvironmentsSetSecretAnswer", {"name": "str", "updated": "Literal[True]"})

EnvironmentsRemoveSecretAnswer = TypedDict("EnvironmentsRemoveSecretAnswer", {"deleted": "Literal[True]", "name": "str"})

ConnectionsListAnswer = TypedDict("ConnectionsListAnswer", {"connections": "List[Connection]", "next_cursor": "NotRequired[str]"})

ConnectionsGetAnswer = TypedDict("ConnectionsGetAnswer", {"connection": "Connection"})

ConnectionsDisconnectAnswer = TypedDict("ConnectionsDisconnectAnswer", {"deleted": "Literal[True]", "id": "str", "keys_revoked": "int", "taken_back": "int"})

MeUpdateBody = TypedDict("MeUpdateBody", {"name": "NotRequired[Union[str, None]]", "email": "NotRequired[Union[str, None]]", "locale": "NotRequired[Union[Literal[\"en\", \"ro\"], None]]", "tz": "NotRequired[Union[str, None]]"})

MeRemoveAnswer = TypedDict("MeRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})

MeReauthBody = TypedDict("MeReauthBody", {"password": "NotRequired[Union[str, None]]", "passkey": "NotRequired[Union[Dict[str, Any], None]]"})

MeReauthAnswer = TypedDict("MeReauthAnswer", {"auth_time": "str"})

MeSetPasswordBody = TypedDict("MeSetPasswordBody", {"password": "str"})

MeSetPasswordAnswer = TypedDict("MeSetPasswordAnswer", {"changed": "Literal[True]"})

MeRemovePasswordAnswer = TypedDict("MeRemovePasswordAnswer", {"deleted": "Literal[True]"})

MeListPasskeysAnswer = TypedDict("MeListPasskeysAnswer", {"passkeys": "List[Passkey]"})

MeAddPasskeyBody = TypedDict("MeAddPasskeyBody", {"passkey": "Dict[str, Any]", "name": "NotRequired[Union[str, None]]"})

MeUpdatePasskeyBody = TypedDict("MeUpdatePasskeyBody", {"name": "str"})

MeRemovePasskeyAnswer = TypedDict("MeRemovePasskeyAnswer", {"deleted": "Literal[True]", "id": "str"})

MeMakeRecoveryCodesAnswer = TypedDict("MeMakeRecoveryCodesAnswer", {"codes": "List[str]"})

MeListLoginsAnswer = TypedDict("MeListLoginsAnswer", {"logins": "List[Login]"})

MeEndLoginsAnswer = TypedDict("MeEndLoginsAnswer", {"ended": "int"})

MeEndLoginAnswer = TypedDict("MeEndLoginAnswer", {"deleted": "Literal[True]", "id": "str"})

MeCreateLinkAnswer = TypedDict("MeCreateLinkAnswer", {"id": "str", "url": "str", "code": "str", "expires_at": "str"})

MeGetLinkAnswer = TypedDict("MeGetLinkAnswer", {"state": "Literal[\"open\", \"claimed\", \"confirmed\", \"used\"]", "expires_at": "str", "phone": "NotRequired[MeGetLinkAnswerPhone]", "numbers": "NotRequired[List[int]]"})

MeGetLinkAnswerPhone = TypedDict("MeGetLinkAnswerPhone", {"name": "str", "platform": "str", "network": "str"})

MeConfirmLinkBody = TypedDict("MeConfirmLinkBody", {"number": "int"})

MeConfirmLinkAnswer = TypedDict("MeConfirmLinkAnswer", {"confirmed": "bool"})

AccountsListAnswer = TypedDict("AccountsListAnswer", {"accounts": "List[Account]", "next_cursor": "NotRequired[str]"})

AccountsCreateBody = TypedDict("AccountsCreateBody", {"email": "str", "name": "NotRequired[Union[str, None]]", "tool_level": "NotRequired[Union[Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"], None]]"})

AccountsCreateAnswer = TypedDict("AccountsCreateAnswer", {"account": "Account", "url": "str"})

AccountsUpdateBody = TypedDict("AccountsUpdateBody", {"suspended": "NotRequired[Union[bool, None]]", "operator": "NotRequired[Union[bool, None]]", "tool_level": "NotRequired[Union[Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"], None]]"})

AccountsLinkAnswer = TypedDict("AccountsLinkAnswer", {"url": "str"})

AccountsSignOutAnswer = TypedDict("AccountsSignOutAnswer", {"ended": "int"})

SystemBackUpAnswer = TypedDict("SystemBackUpAnswer", {"begins": "bool"})

SystemSetBackupPlaceBody = TypedDict("SystemSetBackupPlaceBody", {"place": "str", "s3": "NotRequired[Union[SystemSetBackupPlaceBodyS3, None]]"})

SystemSetBackupPlaceBodyS3 = TypedDict("SystemSetBackupPlaceBodyS3", {"endpoint": "NotRequired[Union[str, None]]", "region": "NotRequired[Union[str, None]]", "access_key_id": "str", "secret_access_key": "str"})

SystemSetBackupPlaceAnswer = TypedDict("SystemSetBackupPlaceAnswer", {"place": "str"})

SystemRemoveBackupPlaceAnswer = TypedDict("SystemRemoveBackupPlaceAnswer", {"deleted": "Literal[True]"})

SystemListBackupsAnswer = TypedDict("SystemListBackupsAnswer", {"data": "List[BackupsNewest]"})

EventsListAnswer = TypedDict("EventsListAnswer", {"events": "List[Change]", "cursor": "str", "missed": "bool"})

EventsStreamReady = TypedDict("EventsStreamReady", {"cursor": "str", "missed": "bool", "topics": "List[Literal[\"hosts\", \"notifications\", \"heartbeats\", \"schedules\", \"scheduler\", \"sandboxes\", \"sessions\", \"prompts\", \"transcripts\", \"environments\"]]", "at": "str"})

OverviewGetAnswer = TypedDict("OverviewGetAnswer", {"at": "str", "status": "Literal[\"ok\", \"attention\", \"down\"]", "counts": "OverviewGetAnswerCounts", "attention": "List[OverviewItem]", "next": "List[SchedulesUpcomingAnswerUpcomingItem]", "recent": "List[OverviewGetAnswerRecentItem]", "paused": "NotRequired[OverviewGetAnswerPaused]", "unavailable": "List[Literal[\"heartbeats\", \"scheduler\", \"schedules\", \"machines\", \"sandboxes\", \"notifications\", \"transcripts\", \"environments\", \"prompts\", \"sessions\"]]"})

OverviewGetAnswerCounts = TypedDict("OverviewGetAnswerCounts", {"heartbeats": "NotRequired[OverviewGetAnswerCountsHeartbeats]", "runs": "NotRequired[OverviewGetAnswerCountsRuns]", "machines": "NotRequired[OverviewGetAnswerCountsMachines]", "sandboxes": "NotRequired[OverviewGetAnswerCountsSandboxes]", "notifications": "NotRequired[OverviewGetAnswerCountsNotifications]", "transcripts": "NotRequired[OverviewGetAnswerCountsTranscripts]", "environments": "NotRequired[OverviewGetAnswerCountsEnvironments]", "prompts": "NotRequired[OverviewGetAnswerCountsPrompts]"})

OverviewGetAnswerCountsHeartbeats = TypedDict("OverviewGetAnswerCountsHeartbeats", {"up": "int", "late": "int", "down": "int", "paused": "int", "new": "int"})

OverviewGetAnswerCountsRuns = TypedDict("OverviewGetAnswerCountsRuns", {"awaiting_approval": "int", "running": "int", "failed_24h": "int"})

OverviewGetAnswerCountsMachines = TypedDict("OverviewGetAnswerCountsMachines", {"online": "int", "away": "int"})

OverviewGetAnswerCountsSandboxes = TypedDict("OverviewGetAnswerCountsSandboxes", {"running": "int", "paused": "int"})

OverviewGetAnswerCountsNotifications = TypedDict("OverviewGetAnswerCountsNotifications", {"unread": "int"})

OverviewGetAnswerCountsTranscripts = TypedDict("OverviewGetAnswerCountsTranscripts", {"processing": "int", "failed": "int"})

OverviewGetAnswerCountsEnvironments = TypedDict("OverviewGetAnswerCountsEnvironments", {"running": "int", "failed": "int"})

OverviewGetAnswerCountsPrompts = TypedDict("OverviewGetAnswerCountsPrompts", {"due": "int"})

OverviewGetAnswerRecentItem = TypedDict("OverviewGetAnswerRecentItem", {"id": "str", "schedule_id": "str", "name": "str", "state": "Literal[\"pending\", \"awaiting_approval\", \"running\", \"succeeded\", \"failed\", \"timed_out\", \"skipped\", \"cancelled\", \"expired\"]", "at": "str"})

OverviewGetAnswerPaused = TypedDict("OverviewGetAnswerPaused", {"until": "NotRequired[str]"})

OverviewFindAnswer = TypedDict("OverviewFindAnswer", {"results": "List[OverviewFindAnswerResultsItem]"})

OverviewFindAnswerResultsItem = TypedDict("OverviewFindAnswerResultsItem", {"kind": "Literal[\"heartbeat\", \"schedule\", \"machine\", \"sandbox\", \"prompt\", \"session\", \"transcript\", \"environment\"]", "id": "str", "title": "str", "detail": "NotRequired[str]", "href": "str"})

Change = Union[HostsChange, NotificationsChange, HeartbeatsChange, SchedulesChange, SchedulerChange, SandboxesChange, SessionsChange, PromptsChange, TranscriptsChange, EnvironmentsChange]
ExecFrame = Union[ExecFrameOf1, ExecFrameOf2, ExecFrameOf3, ExecFrameOf4, ExecFrameOf5]
NewSchedule = Union[NewScheduleOf1, NewScheduleOf2, NewScheduleOf3, NewScheduleOf4, NewScheduleOf5]
Scope = Literal["*", "keys", "keys:read", "devices", "devices:read", "machines", "machines:read", "hosts", "hosts:read", "hosts:exec", "hosts:serve", "notifications", "notifications:read", "heartbeats", "heartbeats:read", "schedules", "schedules:read", "scheduler", "scheduler:read", "scheduler:serve", "sandboxes", "sandboxes:read", "usage", "usage:read", "wallet", "wallet:read", "audit", "audit:read", "chat", "chat:read", "messages", "messages:read", "responses", "responses:read", "embeddings", "embeddings:read", "models", "models:read", "receipt", "receipt:read", "audio", "audio:read", "realtime", "realtime:read", "tokens", "tokens:read", "sessions", "sessions:read", "sessions:serve", "prompts", "prompts:read", "tools", "tools:read", "uploads", "uploads:read", "transcripts", "transcripts:read", "projects", "projects:read", "environments", "environments:read", "environments:serve", "environments:terminal", "mcp", "mcp:read", "connections", "connections:read", "me", "me:read", "accounts", "accounts:read", "overview", "overview:read", "system", "system:read"]
Target = Union[TargetOf1, TargetOf2, TargetOf3, TargetOf4, TargetOf5]
Trigger = Union[TriggerOf1, TriggerOf2, TriggerOf3, TriggerOf4, TriggerOf5]
TriggerInput = Union[TriggerInputOf1, TriggerOf2, TriggerOf3, TriggerOf4, TriggerInputOf5]

#: What following yields where what was known has to be read anew.
Missed = TypedDict("Missed", {"missed": "Literal[True]", "cursor": "str"})
