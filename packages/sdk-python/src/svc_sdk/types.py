"""What is sent and answered."""

# Written from the OpenAPI document by `npm run generate`; changes here are lost.

from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

_Act = TypedDict("_Act", {"id": "str", "at": "str", "who": "Literal[\"key\", \"cli\", \"system\"]", "action": "str", "details": "Dict[str, Any]"})


class Act(_Act, total=False):
    key: ActKey
    address: str
    subject: str
    trace_id: str


_ActKey = TypedDict("_ActKey", {"id": "str"})


class ActKey(_ActKey, total=False):
    name: str
    prefix: str


_Acts = TypedDict("_Acts", {"acts": "List[Act]"})


class Acts(_Acts, total=False):
    next_cursor: str


AnthropicMessage = TypedDict("AnthropicMessage", {"id": "str", "type": "str", "role": "str", "model": "str", "content": "List[AnthropicMessageContentItem]", "stop_reason": "Union[str, None]"})


AnthropicMessageContentItem = TypedDict("AnthropicMessageContentItem", {}, total=False)


_Artifact = TypedDict("_Artifact", {"id": "str", "path": "str", "bytes": "int", "mime": "str", "sha256": "str", "scan": "Literal[\"clean\", \"infected\", \"error\"]", "expires_at": "str"})


class Artifact(_Artifact, total=False):
    url: str


AudioText = TypedDict("AudioText", {"text": "str"})


_Badge = TypedDict("_Badge", {"created_at": "str"})


class Badge(_Badge, total=False):
    heartbeat_id: str


BadgeEndpoint = TypedDict("BadgeEndpoint", {"schemaVersion": "Literal[1]", "label": "str", "message": "Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]", "color": "Literal[\"brightgreen\", \"orange\", \"red\", \"lightgrey\"]"})


_Change = TypedDict("_Change", {"cursor": "str", "topic": "Literal[\"hosts\", \"notifications\", \"heartbeats\", \"schedules\", \"scheduler\", \"sandboxes\", \"sessions\", \"prompts\"]", "op": "Literal[\"created\", \"updated\", \"deleted\"]", "id": "str", "at": "str"})


class Change(_Change, total=False):
    record: Dict[str, Any]


ChatCompletion = TypedDict("ChatCompletion", {"id": "str", "model": "str", "choices": "List[ChatCompletionChoicesItem]"})


ChatCompletionChoicesItem = TypedDict("ChatCompletionChoicesItem", {"index": "int", "message": "ChatCompletionChoicesItemMessage", "finish_reason": "str"})


ChatCompletionChoicesItemMessage = TypedDict("ChatCompletionChoicesItemMessage", {"role": "str", "content": "Any"})


_CodeResult = TypedDict("_CodeResult", {"stdout": "str", "stderr": "str", "truncated": "List[Literal[\"stdout\", \"stderr\"]]", "result": "Union[str, None]", "error": "Union[CodeResultError1, None]", "duration_ms": "int", "execution_count": "int", "kernel_restarted": "bool", "images": "List[str]"})


class CodeResult(_CodeResult, total=False):
    restart_reason: str


CodeResultError1 = TypedDict("CodeResultError1", {"name": "str", "value": "str", "traceback": "str"})


Command = TypedDict("Command", {"cmd": "Union[List[str], None]", "shell": "Union[str, None]", "language": "Union[Literal[\"python\", \"bash\"], None]", "code": "Union[str, None]", "env": "Union[Dict[str, str], None]", "cwd": "Union[str, None]", "timeout_seconds": "Union[int, None]", "stdin": "Union[str, None]", "inputs": "Union[List[CommandInputsItem], None]"}, total=False)


CommandInputsItem = TypedDict("CommandInputsItem", {"path": "str", "url": "str"})


CreatedBadge = TypedDict("CreatedBadge", {"svg_url": "str", "json_url": "str", "created_at": "str"})


_CreatedHeartbeat = TypedDict("_CreatedHeartbeat", {"id": "str", "name": "str", "period_s": "int", "cron": "Union[str, None]", "grace_s": "int", "status": "Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]", "created_at": "str", "updated_at": "str", "ping_url": "str"})


class CreatedHeartbeat(_CreatedHeartbeat, total=False):
    slug: str
    tz: str
    last_ping_at: str
    last_start_at: str
    last_exit_code: int


_CreatedKey = TypedDict("_CreatedKey", {"id": "str", "name": "str", "prefix": "str", "last_four": "str", "status": "Literal[\"active\", \"paused\", \"revoked\"]", "scopes": "List[str]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "created_at": "str", "parent_id": "Union[str, None]", "key": "str"})


class CreatedKey(_CreatedKey, total=False):
    models: List[str]
    spend_cap_micro_usd: int
    expires_at: str
    last_used_at: str


CreatedPingKey = TypedDict("CreatedPingKey", {"ping_key": "str", "created_at": "str"})


_CreatedWebhook = TypedDict("_CreatedWebhook", {"id": "str", "name": "str", "url": "str", "format": "Literal[\"svc\", \"slack\", \"ntfy\"]", "enabled": "bool", "created_at": "str", "updated_at": "str", "secret": "str"})


class CreatedWebhook(_CreatedWebhook, total=False):
    broken: Literal[True]
    types: List[str]
    headers: Dict[str, str]
    disabled_reason: str
    failing_since: str


Device = TypedDict("Device", {"id": "str", "name": "str", "platform": "str", "created_at": "str", "last_seen": "str"})


Embeddings = TypedDict("Embeddings", {"model": "str", "data": "List[EmbeddingsDataItem]"})


EmbeddingsDataItem = TypedDict("EmbeddingsDataItem", {}, total=False)


_EndedProcess = TypedDict("_EndedProcess", {"pid": "int", "command": "str"})


class EndedProcess(_EndedProcess, total=False):
    signal: str


Error = TypedDict("Error", {"error": "ErrorError"})


_ErrorError = TypedDict("_ErrorError", {"message": "str", "type": "str", "code": "str"})


class ErrorError(_ErrorError, total=False):
    details: ErrorErrorDetails


ErrorErrorDetails = TypedDict("ErrorErrorDetails", {"fieldErrors": "Dict[str, List[str]]"}, total=False)


ExecFrameOf1 = TypedDict("ExecFrameOf1", {"type": "Literal[\"start\"]"})


ExecFrameOf2 = TypedDict("ExecFrameOf2", {"type": "Literal[\"stdout\", \"stderr\"]", "data": "str"})


ExecFrameOf3 = TypedDict("ExecFrameOf3", {"type": "Literal[\"truncated\"]", "stream": "Literal[\"stdout\", \"stderr\"]"})


ExecFrameOf4 = TypedDict("ExecFrameOf4", {"type": "Literal[\"exit\"]", "exit_code": "Union[int, None]", "timed_out": "bool", "duration_ms": "int", "receipt": "Receipt"})


ExecFrameOf5 = TypedDict("ExecFrameOf5", {"type": "Literal[\"error\"]", "code": "str", "message": "str"})


ExecResult = TypedDict("ExecResult", {"exit_code": "Union[int, None]", "stdout": "str", "stderr": "str", "truncated": "List[Literal[\"stdout\", \"stderr\"]]", "timed_out": "bool", "duration_ms": "int", "receipt": "Receipt"})


_FetchedPage = TypedDict("_FetchedPage", {"url": "str", "final_url": "str", "title": "str", "byline": "str", "description": "str", "canonical": "str", "lang": "str", "content_type": "str", "content": "str", "chars": "int", "truncated": "bool", "took_ms": "int", "cached": "bool"})


class FetchedPage(_FetchedPage, total=False):
    empty_reason: Literal["needs_javascript"]


_ForkedSandbox = TypedDict("_ForkedSandbox", {"id": "str", "restored": "bool", "ready_ms": "float"})


class ForkedSandbox(_ForkedSandbox, total=False):
    error: str


_Heartbeat = TypedDict("_Heartbeat", {"id": "str", "name": "str", "period_s": "int", "cron": "Union[str, None]", "grace_s": "int", "status": "Literal[\"new\", \"up\", \"late\", \"down\", \"paused\"]", "created_at": "str", "updated_at": "str"})


class Heartbeat(_Heartbeat, total=False):
    slug: str
    tz: str
    last_ping_at: str
    last_start_at: str
    last_exit_code: int


Host = TypedDict("Host", {"device_id": "str", "name": "str", "platform": "str", "os": "str", "hostname": "str", "roots": "List[str]", "since": "int", "last_seen": "int"})


_HostExecResult = TypedDict("_HostExecResult", {"req_id": "str", "ok": "bool", "result": "Any"})


class HostExecResult(_HostExecResult, total=False):
    error: str


_Key = TypedDict("_Key", {"id": "str", "name": "str", "prefix": "str", "last_four": "str", "status": "Literal[\"active\", \"paused\", \"revoked\"]", "scopes": "List[str]", "tool_level": "Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"]", "created_at": "str", "parent_id": "Union[str, None]"})


class Key(_Key, total=False):
    models: List[str]
    spend_cap_micro_usd: int
    expires_at: str
    last_used_at: str


McpMessage = TypedDict("McpMessage", {"jsonrpc": "str"})


MediaToken = TypedDict("MediaToken", {"token": "str", "scope": "Literal[\"realtime\", \"audio\", \"embeddings\"]", "expires_at": "str"})


Model = TypedDict("Model", {"id": "str", "object": "Literal[\"model\"]", "type": "Literal[\"model\"]", "display_name": "str", "created": "int", "created_at": "str", "owned_by": "str"})


_ModelReceipt = TypedDict("_ModelReceipt", {"trace_id": "str", "model": "str", "lane": "str", "usage": "ModelReceiptUsage", "cost_micro_usd": "int", "created_at": "str"})


class ModelReceipt(_ModelReceipt, total=False):
    unpriced: bool
    estimated: bool


_ModelReceiptUsage = TypedDict("_ModelReceiptUsage", {"input_tokens": "int", "output_tokens": "int"})


class ModelReceiptUsage(_ModelReceiptUsage, total=False):
    cached_tokens: int


ModelResponse = TypedDict("ModelResponse", {"id": "str", "status": "str", "model": "str", "output": "List[ModelResponseOutputItem]"})


ModelResponseOutputItem = TypedDict("ModelResponseOutputItem", {}, total=False)


NewSandbox = TypedDict("NewSandbox", {"backend": "Union[Literal[\"v1\", \"v2\"], None]", "template": "Union[Literal[\"svc-base\", \"office-acte\", \"desktop\"], None]", "ttl_seconds": "Union[int, None]", "egress": "Union[Union[NewSandboxEgress11, NewSandboxEgress12, NewSandboxEgress13], None]", "metadata": "Union[Dict[str, str], None]"}, total=False)


NewSandboxEgress11 = TypedDict("NewSandboxEgress11", {"mode": "Literal[\"none\"]"})


NewSandboxEgress12 = TypedDict("NewSandboxEgress12", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})


NewSandboxEgress13 = TypedDict("NewSandboxEgress13", {"mode": "Literal[\"preset\"]", "preset": "Literal[\"pypi\", \"npm\"]"})


_NewScheduleOf1 = TypedDict("_NewScheduleOf1", {"name": "str", "trigger": "TriggerInput", "kind": "Literal[\"agent\"]", "spec": "NewScheduleOf1Spec"})


class NewScheduleOf1(_NewScheduleOf1, total=False):
    description: Union[str, None]
    enabled: Union[bool, None]
    target: Union[Target, None]
    failover: Union[List[List[str]], None]
    native: Union[bool, None]
    policy: Union[NewScheduleOf1Policy, None]
    misfire: Union[Literal["skip", "once", "all_within"], None]
    misfire_window_min: Union[int, None]
    overlap: Union[Literal["skip", "queue", "kill"], None]
    timeout_s: Union[int, None]
    retries: Union[int, None]
    retry_backoff_s: Union[int, None]
    late_after_s: Union[int, None]
    alert_on_fail: Union[bool, None]
    notify: Union[Literal["on_failure", "on_change", "always", "never"], None]
    template: Union[str, None]


NewScheduleOf1Policy = TypedDict("NewScheduleOf1Policy", {"approval": "Union[Literal[\"never\", \"always\", \"outside_hours\"], None]", "quiet_hours": "Union[NewScheduleOf1PolicyQuietHours, None]", "max_runs_per_hour": "Union[int, None]", "budget_micro_usd_per_run": "Union[int, None]", "budget_micro_usd_per_day": "Union[int, None]", "skip_days": "Union[NewScheduleOf1PolicySkipDays, None]", "pause_after_failures": "Union[int, None]"}, total=False)


_NewScheduleOf1PolicyQuietHours = TypedDict("_NewScheduleOf1PolicyQuietHours", {"start": "str", "end": "str"})


class NewScheduleOf1PolicyQuietHours(_NewScheduleOf1PolicyQuietHours, total=False):
    days: Union[List[int], None]
    tz: Union[str, None]


NewScheduleOf1PolicySkipDays = TypedDict("NewScheduleOf1PolicySkipDays", {"holidays": "Union[Literal[\"RO\"], None]", "weekdays": "Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]", "dates": "Union[List[str], None]"}, total=False)


_NewScheduleOf1Spec = TypedDict("_NewScheduleOf1Spec", {"prompt": "str"})


class NewScheduleOf1Spec(_NewScheduleOf1Spec, total=False):
    skill: Union[str, None]
    permissions: Union[Literal["read", "edit", "pr"], List[Literal["read", "edit", "pr"]], None]


_NewScheduleOf2 = TypedDict("_NewScheduleOf2", {"name": "str", "trigger": "TriggerInput", "kind": "Literal[\"shell\"]", "spec": "NewScheduleOf2Spec"})


class NewScheduleOf2(_NewScheduleOf2, total=False):
    description: Union[str, None]
    enabled: Union[bool, None]
    target: Union[Target, None]
    failover: Union[List[List[str]], None]
    native: Union[bool, None]
    policy: Union[NewScheduleOf2Policy, None]
    misfire: Union[Literal["skip", "once", "all_within"], None]
    misfire_window_min: Union[int, None]
    overlap: Union[Literal["skip", "queue", "kill"], None]
    timeout_s: Union[int, None]
    retries: Union[int, None]
    retry_backoff_s: Union[int, None]
    late_after_s: Union[int, None]
    alert_on_fail: Union[bool, None]
    notify: Union[Literal["on_failure", "on_change", "always", "never"], None]
    template: Union[str, None]


NewScheduleOf2Policy = TypedDict("NewScheduleOf2Policy", {"approval": "Union[Literal[\"never\", \"always\", \"outside_hours\"], None]", "quiet_hours": "Union[NewScheduleOf2PolicyQuietHours, None]", "max_runs_per_hour": "Union[int, None]", "budget_micro_usd_per_run": "Union[int, None]", "budget_micro_usd_per_day": "Union[int, None]", "skip_days": "Union[NewScheduleOf2PolicySkipDays, None]", "pause_after_failures": "Union[int, None]"}, total=False)


_NewScheduleOf2PolicyQuietHours = TypedDict("_NewScheduleOf2PolicyQuietHours", {"start": "str", "end": "str"})


class NewScheduleOf2PolicyQuietHours(_NewScheduleOf2PolicyQuietHours, total=False):
    days: Union[List[int], None]
    tz: Union[str, None]


NewScheduleOf2PolicySkipDays = TypedDict("NewScheduleOf2PolicySkipDays", {"holidays": "Union[Literal[\"RO\"], None]", "weekdays": "Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]", "dates": "Union[List[str], None]"}, total=False)


_NewScheduleOf2Spec = TypedDict("_NewScheduleOf2Spec", {"command": "str"})


class NewScheduleOf2Spec(_NewScheduleOf2Spec, total=False):
    cwd: Union[str, None]
    env_names: Union[List[str], None]
    shell: Union[str, None]


_NewScheduleOf3 = TypedDict("_NewScheduleOf3", {"name": "str", "trigger": "TriggerInput", "kind": "Literal[\"http\"]", "spec": "NewScheduleOf3Spec"})


class NewScheduleOf3(_NewScheduleOf3, total=False):
    description: Union[str, None]
    enabled: Union[bool, None]
    target: Union[Target, None]
    failover: Union[List[List[str]], None]
    native: Union[bool, None]
    policy: Union[NewScheduleOf3Policy, None]
    misfire: Union[Literal["skip", "once", "all_within"], None]
    misfire_window_min: Union[int, None]
    overlap: Union[Literal["skip", "queue", "kill"], None]
    timeout_s: Union[int, None]
    retries: Union[int, None]
    retry_backoff_s: Union[int, None]
    late_after_s: Union[int, None]
    alert_on_fail: Union[bool, None]
    notify: Union[Literal["on_failure", "on_change", "always", "never"], None]
    template: Union[str, None]


NewScheduleOf3Policy = TypedDict("NewScheduleOf3Policy", {"approval": "Union[Literal[\"never\", \"always\", \"outside_hours\"], None]", "quiet_hours": "Union[NewScheduleOf3PolicyQuietHours, None]", "max_runs_per_hour": "Union[int, None]", "budget_micro_usd_per_run": "Union[int, None]", "budget_micro_usd_per_day": "Union[int, None]", "skip_days": "Union[NewScheduleOf3PolicySkipDays, None]", "pause_after_failures": "Union[int, None]"}, total=False)


_NewScheduleOf3PolicyQuietHours = TypedDict("_NewScheduleOf3PolicyQuietHours", {"start": "str", "end": "str"})


class NewScheduleOf3PolicyQuietHours(_NewScheduleOf3PolicyQuietHours, total=False):
    days: Union[List[int], None]
    tz: Union[str, None]


NewScheduleOf3PolicySkipDays = TypedDict("NewScheduleOf3PolicySkipDays", {"holidays": "Union[Literal[\"RO\"], None]", "weekdays": "Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]", "dates": "Union[List[str], None]"}, total=False)


_NewScheduleOf3Spec = TypedDict("_NewScheduleOf3Spec", {"url": "str"})


class NewScheduleOf3Spec(_NewScheduleOf3Spec, total=False):
    method: Union[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], None]
    headers: Union[Dict[str, str], None]
    body: Union[str, None]
    expect_status: Union[int, None]


_NewScheduleOf4 = TypedDict("_NewScheduleOf4", {"name": "str", "trigger": "TriggerInput", "kind": "Literal[\"chain\"]", "spec": "NewScheduleOf4Spec"})


class NewScheduleOf4(_NewScheduleOf4, total=False):
    description: Union[str, None]
    enabled: Union[bool, None]
    target: Union[Target, None]
    failover: Union[List[List[str]], None]
    native: Union[bool, None]
    policy: Union[NewScheduleOf4Policy, None]
    misfire: Union[Literal["skip", "once", "all_within"], None]
    misfire_window_min: Union[int, None]
    overlap: Union[Literal["skip", "queue", "kill"], None]
    timeout_s: Union[int, None]
    retries: Union[int, None]
    retry_backoff_s: Union[int, None]
    late_after_s: Union[int, None]
    alert_on_fail: Union[bool, None]
    notify: Union[Literal["on_failure", "on_change", "always", "never"], None]
    template: Union[str, None]


NewScheduleOf4Policy = TypedDict("NewScheduleOf4Policy", {"approval": "Union[Literal[\"never\", \"always\", \"outside_hours\"], None]", "quiet_hours": "Union[NewScheduleOf4PolicyQuietHours, None]", "max_runs_per_hour": "Union[int, None]", "budget_micro_usd_per_run": "Union[int, None]", "budget_micro_usd_per_day": "Union[int, None]", "skip_days": "Union[NewScheduleOf4PolicySkipDays, None]", "pause_after_failures": "Union[int, None]"}, total=False)


_NewScheduleOf4PolicyQuietHours = TypedDict("_NewScheduleOf4PolicyQuietHours", {"start": "str", "end": "str"})


class NewScheduleOf4PolicyQuietHours(_NewScheduleOf4PolicyQuietHours, total=False):
    days: Union[List[int], None]
    tz: Union[str, None]


NewScheduleOf4PolicySkipDays = TypedDict("NewScheduleOf4PolicySkipDays", {"holidays": "Union[Literal[\"RO\"], None]", "weekdays": "Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]", "dates": "Union[List[str], None]"}, total=False)


_NewScheduleOf4Spec = TypedDict("_NewScheduleOf4Spec", {"steps": "List[NewScheduleOf4SpecStepsItem]"})


class NewScheduleOf4Spec(_NewScheduleOf4Spec, total=False):
    stop_on_failure: Union[bool, None]


_NewScheduleOf4SpecStepsItem = TypedDict("_NewScheduleOf4SpecStepsItem", {"schedule_id": "str"})


class NewScheduleOf4SpecStepsItem(_NewScheduleOf4SpecStepsItem, total=False):
    on: Union[Literal["success", "always"], None]


_NewScheduleOf5 = TypedDict("_NewScheduleOf5", {"name": "str", "trigger": "TriggerInput", "kind": "Literal[\"phone_action\"]", "spec": "Union[NewScheduleOf5Spec1, NewScheduleOf5Spec2, NewScheduleOf5Spec3, NewScheduleOf5Spec4, NewScheduleOf5Spec5]"})


class NewScheduleOf5(_NewScheduleOf5, total=False):
    description: Union[str, None]
    enabled: Union[bool, None]
    target: Union[Target, None]
    failover: Union[List[List[str]], None]
    native: Union[bool, None]
    policy: Union[NewScheduleOf5Policy, None]
    misfire: Union[Literal["skip", "once", "all_within"], None]
    misfire_window_min: Union[int, None]
    overlap: Union[Literal["skip", "queue", "kill"], None]
    timeout_s: Union[int, None]
    retries: Union[int, None]
    retry_backoff_s: Union[int, None]
    late_after_s: Union[int, None]
    alert_on_fail: Union[bool, None]
    notify: Union[Literal["on_failure", "on_change", "always", "never"], None]
    template: Union[str, None]


NewScheduleOf5Policy = TypedDict("NewScheduleOf5Policy", {"approval": "Union[Literal[\"never\", \"always\", \"outside_hours\"], None]", "quiet_hours": "Union[NewScheduleOf5PolicyQuietHours, None]", "max_runs_per_hour": "Union[int, None]", "budget_micro_usd_per_run": "Union[int, None]", "budget_micro_usd_per_day": "Union[int, None]", "skip_days": "Union[NewScheduleOf5PolicySkipDays, None]", "pause_after_failures": "Union[int, None]"}, total=False)


_NewScheduleOf5PolicyQuietHours = TypedDict("_NewScheduleOf5PolicyQuietHours", {"start": "str", "end": "str"})


class NewScheduleOf5PolicyQuietHours(_NewScheduleOf5PolicyQuietHours, total=False):
    days: Union[List[int], None]
    tz: Union[str, None]


NewScheduleOf5PolicySkipDays = TypedDict("NewScheduleOf5PolicySkipDays", {"holidays": "Union[Literal[\"RO\"], None]", "weekdays": "Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]", "dates": "Union[List[str], None]"}, total=False)


NewScheduleOf5Spec1 = TypedDict("NewScheduleOf5Spec1", {"action": "Literal[\"notify\"]", "params": "NewScheduleOf5Spec1Params"})


_NewScheduleOf5Spec1Params = TypedDict("_NewScheduleOf5Spec1Params", {"title": "str"})


class NewScheduleOf5Spec1Params(_NewScheduleOf5Spec1Params, total=False):
    body: Union[str, None]


NewScheduleOf5Spec2 = TypedDict("NewScheduleOf5Spec2", {"action": "Literal[\"start_agent\"]", "params": "NewScheduleOf5Spec2Params"})


NewScheduleOf5Spec2Params = TypedDict("NewScheduleOf5Spec2Params", {"prompt": "str"})


NewScheduleOf5Spec3 = TypedDict("NewScheduleOf5Spec3", {"action": "Literal[\"open_app\"]", "params": "NewScheduleOf5Spec3Params"})


NewScheduleOf5Spec3Params = TypedDict("NewScheduleOf5Spec3Params", {"app_id": "Union[str, None]", "url": "Union[str, None]"}, total=False)


NewScheduleOf5Spec4 = TypedDict("NewScheduleOf5Spec4", {"action": "Literal[\"wifi\"]", "params": "NewScheduleOf5Spec4Params"})


NewScheduleOf5Spec4Params = TypedDict("NewScheduleOf5Spec4Params", {"on": "bool"})


NewScheduleOf5Spec5 = TypedDict("NewScheduleOf5Spec5", {"action": "Literal[\"dnd\"]", "params": "NewScheduleOf5Spec5Params"})


_NewScheduleOf5Spec5Params = TypedDict("_NewScheduleOf5Spec5Params", {"on": "bool"})


class NewScheduleOf5Spec5Params(_NewScheduleOf5Spec5Params, total=False):
    until: Union[str, None]


_NewSessionEvent = TypedDict("_NewSessionEvent", {"type": "Literal[\"turn_start\", \"delta\", \"turn_end\", \"message\", \"tool\"]", "turn_id": "str"})


class NewSessionEvent(_NewSessionEvent, total=False):
    id: Union[str, None]
    role: Union[str, None]
    text: Union[str, None]
    data: Union[Dict[str, Any], None]


_Notification = TypedDict("_Notification", {"id": "str", "type": "str", "title": "str", "body": "str", "severity": "Literal[\"info\", \"warning\", \"critical\"]", "created_at": "str"})


class Notification(_Notification, total=False):
    url: str
    web_url: str
    data: Dict[str, Any]
    read_at: str
    archived_at: str


OneShot = TypedDict("OneShot", {"cmd": "Union[List[str], None]", "shell": "Union[str, None]", "language": "Union[Literal[\"python\", \"bash\"], None]", "code": "Union[str, None]", "env": "Union[Dict[str, str], None]", "cwd": "Union[str, None]", "timeout_seconds": "Union[int, None]", "stdin": "Union[str, None]", "inputs": "Union[List[OneShotInputsItem], None]", "backend": "Union[Literal[\"v1\", \"v2\"], None]", "template": "Union[Literal[\"svc-base\", \"office-acte\", \"desktop\"], None]", "egress": "Union[Union[OneShotEgress11, OneShotEgress12, OneShotEgress13], None]", "metadata": "Union[Dict[str, str], None]"}, total=False)


OneShotInputsItem = TypedDict("OneShotInputsItem", {"path": "str", "url": "str"})


OneShotEgress11 = TypedDict("OneShotEgress11", {"mode": "Literal[\"none\"]"})


OneShotEgress12 = TypedDict("OneShotEgress12", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})


OneShotEgress13 = TypedDict("OneShotEgress13", {"mode": "Literal[\"preset\"]", "preset": "Literal[\"pypi\", \"npm\"]"})


_Ping = TypedDict("_Ping", {"kind": "Literal[\"success\", \"start\", \"fail\", \"log\", \"exit\"]", "at": "str", "count": "int"})


class Ping(_Ping, total=False):
    exit_code: int
    rid: str
    body: str


_Prompt = TypedDict("_Prompt", {"id": "str", "prompt": "str", "text_hash": "str", "source": "str", "auto_run": "bool", "status": "Literal[\"open\", \"launched\", \"sent\", \"answered\", \"verified\", \"done\", \"dismissed\", \"superseded\"]", "created_at": "str", "updated_at": "str"})


class Prompt(_Prompt, total=False):
    goal_key: str
    not_before: str
    target_device_id: str
    match_ref: str
    match_turn_id: str
    run_session_id: str
    waiting_for: str
    last_turn: PromptTurn
    report: PromptReport
    launched_at: str
    sent_at: str
    answered_at: str
    verified_at: str
    superseded_by: str


PromptReport = TypedDict("PromptReport", {"verdict": "Literal[\"done\", \"partial\", \"not_started\"]", "summary": "str", "changed": "str", "remaining": "str"})


_PromptTurn = TypedDict("_PromptTurn", {"ok": "bool"})


class PromptTurn(_PromptTurn, total=False):
    exit_code: int
    error: str


Readiness = TypedDict("Readiness", {"ok": "bool", "checks": "ReadinessChecks", "s1": "ReadinessS1"})


ReadinessChecks = TypedDict("ReadinessChecks", {"db": "ReadinessChecksDb", "schema": "ReadinessChecksSchema", "registry": "ReadinessChecksRegistry"})


_ReadinessChecksDb = TypedDict("_ReadinessChecksDb", {"ok": "bool"})


class ReadinessChecksDb(_ReadinessChecksDb, total=False):
    error: str


_ReadinessChecksSchema = TypedDict("_ReadinessChecksSchema", {"ok": "bool"})


class ReadinessChecksSchema(_ReadinessChecksSchema, total=False):
    error: str


_ReadinessChecksRegistry = TypedDict("_ReadinessChecksRegistry", {"ok": "bool"})


class ReadinessChecksRegistry(_ReadinessChecksRegistry, total=False):
    error: str


_ReadinessS1 = TypedDict("_ReadinessS1", {"mode": "str", "ok": "bool", "ms": "int"})


class ReadinessS1(_ReadinessS1, total=False):
    error: str


Receipt = TypedDict("Receipt", {"image_digest": "str", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "input_sha256": "str", "command_sha256": "str", "outputs": "List[ReceiptOutputsItem]", "generation_before": "int", "generation_after": "int"})


ReceiptOutputsItem = TypedDict("ReceiptOutputsItem", {"path": "str", "sha256": "str", "bytes": "int"})


_ResumedSandbox = TypedDict("_ResumedSandbox", {"id": "str", "object": "Literal[\"sandbox\"]", "status": "Literal[\"running\", \"paused\", \"stopped\", \"expired\", \"destroyed\"]", "backend": "Literal[\"v1\", \"v2\"]", "restored": "bool", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "egress": "Union[ResumedSandboxEgress1, ResumedSandboxEgress2, ResumedSandboxEgress3]", "created_at": "str", "expires_at": "str", "last_exec_at": "Union[str, None]", "metadata": "Dict[str, str]", "usage": "ResumedSandboxUsage", "ready_ms": "float"})


class ResumedSandbox(_ResumedSandbox, total=False):
    ended_after_resume: List[EndedProcess]


ResumedSandboxEgress1 = TypedDict("ResumedSandboxEgress1", {"mode": "Literal[\"none\"]"})


ResumedSandboxEgress2 = TypedDict("ResumedSandboxEgress2", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})


ResumedSandboxEgress3 = TypedDict("ResumedSandboxEgress3", {"mode": "Literal[\"preset\"]", "preset": "Literal[\"pypi\", \"npm\"]"})


ResumedSandboxUsage = TypedDict("ResumedSandboxUsage", {"exec_count": "int", "exec_seconds": "float"})


_RotatedWebhook = TypedDict("_RotatedWebhook", {"id": "str", "name": "str", "url": "str", "format": "Literal[\"svc\", \"slack\", \"ntfy\"]", "enabled": "bool", "created_at": "str", "updated_at": "str", "secret": "str", "previous_until": "str"})


class RotatedWebhook(_RotatedWebhook, total=False):
    broken: Literal[True]
    types: List[str]
    headers: Dict[str, str]
    disabled_reason: str
    failing_since: str


_Run = TypedDict("_Run", {"id": "str", "schedule_id": "str", "scheduled_for": "str", "state": "Literal[\"pending\", \"awaiting_approval\", \"running\", \"succeeded\", \"failed\", \"timed_out\", \"skipped\", \"cancelled\", \"expired\"]", "attempt": "int", "cost_micro_usd": "int", "created_at": "str"})


class Run(_Run, total=False):
    device_id: str
    started_at: str
    finished_at: str
    exit_code: int
    log_tail: str
    session_id: str
    error: str
    waiting_for: Literal["account_paused", "back_off", "earlier_run", "cloud", "no_host", "tags", "host_paused", "not_approved", "host_busy"]


RunResult = TypedDict("RunResult", {"exit_code": "Union[int, None]", "stdout": "str", "stderr": "str", "truncated": "List[Literal[\"stdout\", \"stderr\"]]", "timed_out": "bool", "duration_ms": "int", "receipt": "Receipt", "artifacts": "List[Artifact]"})


_Sandbox = TypedDict("_Sandbox", {"id": "str", "object": "Literal[\"sandbox\"]", "status": "Literal[\"running\", \"paused\", \"stopped\", \"expired\", \"destroyed\"]", "backend": "Literal[\"v1\", \"v2\"]", "template": "Literal[\"svc-base\", \"office-acte\", \"desktop\"]", "egress": "Union[SandboxEgress1, SandboxEgress2, SandboxEgress3]", "created_at": "str", "expires_at": "str", "last_exec_at": "Union[str, None]", "metadata": "Dict[str, str]", "usage": "SandboxUsage"})


class Sandbox(_Sandbox, total=False):
    restored: bool
    ended_after_resume: List[EndedProcess]


SandboxEgress1 = TypedDict("SandboxEgress1", {"mode": "Literal[\"none\"]"})


SandboxEgress2 = TypedDict("SandboxEgress2", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})


SandboxEgress3 = TypedDict("SandboxEgress3", {"mode": "Literal[\"preset\"]", "preset": "Literal[\"pypi\", \"npm\"]"})


SandboxUsage = TypedDict("SandboxUsage", {"exec_count": "int", "exec_seconds": "float"})


SandboxChange = TypedDict("SandboxChange", {"ttl_seconds": "Union[int, None]", "metadata": "Union[Dict[str, str], None]", "egress": "Union[Union[SandboxChangeEgress11, SandboxChangeEgress12, SandboxChangeEgress13], None]"}, total=False)


SandboxChangeEgress11 = TypedDict("SandboxChangeEgress11", {"mode": "Literal[\"none\"]"})


SandboxChangeEgress12 = TypedDict("SandboxChangeEgress12", {"mode": "Literal[\"allowlist\"]", "domains": "List[str]"})


SandboxChangeEgress13 = TypedDict("SandboxChangeEgress13", {"mode": "Literal[\"preset\"]", "preset": "Literal[\"pypi\", \"npm\"]"})


_Schedule = TypedDict("_Schedule", {"id": "str", "name": "str", "enabled": "bool", "trigger": "Trigger", "target": "Target", "kind": "Literal[\"agent\", \"shell\", \"http\", \"chain\", \"phone_action\"]", "spec": "Dict[str, Any]", "upcoming": "List[str]", "created_at": "str", "updated_at": "str"})


class Schedule(_Schedule, total=False):
    description: str
    failover: List[List[str]]
    native: bool
    policy: SchedulePolicy
    misfire: Literal["skip", "once", "all_within"]
    misfire_window_min: int
    overlap: Literal["skip", "queue", "kill"]
    timeout_s: int
    retries: int
    retry_backoff_s: int
    late_after_s: int
    alert_on_fail: bool
    notify: Literal["on_failure", "on_change", "always", "never"]
    template: str
    command_hash: str
    next_run_at: str
    last_run_at: str
    approvals: List[ScheduleApprovalsItem]


SchedulePolicy = TypedDict("SchedulePolicy", {"approval": "Literal[\"never\", \"always\", \"outside_hours\"]", "quiet_hours": "SchedulePolicyQuietHours", "max_runs_per_hour": "int", "budget_micro_usd_per_run": "int", "budget_micro_usd_per_day": "int", "skip_days": "SchedulePolicySkipDays", "pause_after_failures": "int"}, total=False)


_SchedulePolicyQuietHours = TypedDict("_SchedulePolicyQuietHours", {"start": "str", "end": "str"})


class SchedulePolicyQuietHours(_SchedulePolicyQuietHours, total=False):
    days: List[int]
    tz: str


SchedulePolicySkipDays = TypedDict("SchedulePolicySkipDays", {"holidays": "Literal[\"RO\"]", "weekdays": "List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]]", "dates": "List[str]"}, total=False)


ScheduleApprovalsItem = TypedDict("ScheduleApprovalsItem", {"device_id": "str", "command_hash": "str", "approved_at": "str"})


ScheduleChanges = TypedDict("ScheduleChanges", {"description": "Union[str, None]", "enabled": "Union[Union[bool, None], None]", "target": "Union[Target, None]", "failover": "Union[List[List[str]], None]", "native": "Union[Union[bool, None], None]", "policy": "Union[ScheduleChangesPolicy1, None]", "misfire": "Union[Literal[\"skip\", \"once\", \"all_within\"], None]", "misfire_window_min": "Union[int, None]", "overlap": "Union[Literal[\"skip\", \"queue\", \"kill\"], None]", "timeout_s": "Union[int, None]", "retries": "Union[int, None]", "retry_backoff_s": "Union[int, None]", "late_after_s": "Union[int, None]", "alert_on_fail": "Union[Union[bool, None], None]", "notify": "Union[Literal[\"on_failure\", \"on_change\", \"always\", \"never\"], None]", "template": "Union[str, None]", "name": "Union[str, None]", "trigger": "Union[TriggerInput, None]", "kind": "Union[Literal[\"agent\", \"shell\", \"http\", \"chain\", \"phone_action\"], None]", "spec": "Union[Dict[str, Any], None]"}, total=False)


ScheduleChangesPolicy1 = TypedDict("ScheduleChangesPolicy1", {"approval": "Union[Literal[\"never\", \"always\", \"outside_hours\"], None]", "quiet_hours": "Union[ScheduleChangesPolicy1QuietHours, None]", "max_runs_per_hour": "Union[int, None]", "budget_micro_usd_per_run": "Union[int, None]", "budget_micro_usd_per_day": "Union[int, None]", "skip_days": "Union[ScheduleChangesPolicy1SkipDays, None]", "pause_after_failures": "Union[int, None]"}, total=False)


_ScheduleChangesPolicy1QuietHours = TypedDict("_ScheduleChangesPolicy1QuietHours", {"start": "str", "end": "str"})


class ScheduleChangesPolicy1QuietHours(_ScheduleChangesPolicy1QuietHours, total=False):
    days: Union[List[int], None]
    tz: Union[str, None]


ScheduleChangesPolicy1SkipDays = TypedDict("ScheduleChangesPolicy1SkipDays", {"holidays": "Union[Literal[\"RO\"], None]", "weekdays": "Union[List[Union[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"], int]], None]", "dates": "Union[List[str], None]"}, total=False)


_SchedulerHost = TypedDict("_SchedulerHost", {"id": "str", "device_id": "str", "name": "str", "platform": "str", "tags": "List[str]", "kinds": "List[Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]]", "online": "bool", "last_seen": "str", "paused": "bool", "running": "int"})


class SchedulerHost(_SchedulerHost, total=False):
    max_parallel: int


SearchAnswer = TypedDict("SearchAnswer", {"results": "List[SearchResult]", "provider": "str", "took_ms": "int", "cached": "bool", "coverage": "float", "sources_tried": "List[str]", "degraded": "List[str]", "intent": "Literal[\"currency\", \"weather\", \"news\", \"docs\", \"code\", \"general\"]", "rerank": "SearchAnswerRerank"})


SearchAnswerRerank = TypedDict("SearchAnswerRerank", {"model": "str", "ms": "int", "n": "int"})


SearchResult = TypedDict("SearchResult", {"title": "str", "url": "str", "snippet": "str", "page_age": "str", "source": "str", "verified": "bool", "proof": "SearchResultProof"})


SearchResultProof = TypedDict("SearchResultProof", {"sha256": "str", "start": "int", "end": "int", "at": "str"})


_Session = TypedDict("_Session", {"id": "str", "seq": "int", "created_at": "str", "updated_at": "str"})


class Session(_Session, total=False):
    title: str
    metadata: Dict[str, Any]
    lease: SessionLease


_SessionControl = TypedDict("_SessionControl", {"id": "str", "session_id": "str", "type": "str", "created_at": "str"})


class SessionControl(_SessionControl, total=False):
    text: str
    target_device_id: str
    from_device_id: str
    acked_at: str
    withdrawn_at: str


_SessionEvent = TypedDict("_SessionEvent", {"seq": "int", "type": "Literal[\"turn_start\", \"delta\", \"turn_end\", \"message\", \"tool\"]", "turn_id": "str", "device_id": "str", "at": "str"})


class SessionEvent(_SessionEvent, total=False):
    id: str
    role: str
    text: str
    data: Dict[str, Any]


SessionLease = TypedDict("SessionLease", {"device_id": "str", "expires_at": "str"})


TargetOf1 = TypedDict("TargetOf1", {"type": "Literal[\"host\"]", "device_id": "str"})


TargetOf2 = TypedDict("TargetOf2", {"type": "Literal[\"tags\"]", "tags": "List[str]"})


TargetOf3 = TypedDict("TargetOf3", {"type": "Literal[\"any\"]"})


TargetOf4 = TypedDict("TargetOf4", {"type": "Literal[\"cloud\"]"})


TargetOf5 = TypedDict("TargetOf5", {"type": "Literal[\"cloud_vm\"]", "project_id": "str"})


TokenCount = TypedDict("TokenCount", {"input_tokens": "int"})


_TriggerOf1 = TypedDict("_TriggerOf1", {"type": "Literal[\"cron\"]", "expr": "str"})


class TriggerOf1(_TriggerOf1, total=False):
    tz: str


TriggerOf2 = TypedDict("TriggerOf2", {"type": "Literal[\"at\"]", "at": "str"})


TriggerOf3 = TypedDict("TriggerOf3", {"type": "Literal[\"interval\"]", "every_s": "int"})


TriggerOf4 = TypedDict("TriggerOf4", {"type": "Literal[\"event\"]", "trigger_id": "str"})


TriggerOf5 = TypedDict("TriggerOf5", {"type": "Literal[\"after\"]", "schedule_id": "str", "on": "Literal[\"success\", \"failure\", \"always\"]"})


_TriggerInputOf1 = TypedDict("_TriggerInputOf1", {"type": "Literal[\"cron\"]", "expr": "str"})


class TriggerInputOf1(_TriggerInputOf1, total=False):
    tz: Union[str, None]


TriggerInputOf2 = TypedDict("TriggerInputOf2", {"type": "Literal[\"at\"]", "at": "str"})


TriggerInputOf3 = TypedDict("TriggerInputOf3", {"type": "Literal[\"interval\"]", "every_s": "int"})


TriggerInputOf4 = TypedDict("TriggerInputOf4", {"type": "Literal[\"event\"]", "trigger_id": "str"})


_TriggerInputOf5 = TypedDict("_TriggerInputOf5", {"type": "Literal[\"after\"]", "schedule_id": "str"})


class TriggerInputOf5(_TriggerInputOf5, total=False):
    on: Union[Literal["success", "failure", "always"], None]


Usage = TypedDict("Usage", {"quotas": "List[UsageQuotasItem]"})


UsageQuotasItem = TypedDict("UsageQuotasItem", {"name": "str", "used": "int", "limit": "int"})


_Webhook = TypedDict("_Webhook", {"id": "str", "name": "str", "url": "str", "format": "Literal[\"svc\", \"slack\", \"ntfy\"]", "enabled": "bool", "created_at": "str", "updated_at": "str"})


class Webhook(_Webhook, total=False):
    broken: Literal[True]
    types: List[str]
    headers: Dict[str, str]
    disabled_reason: str
    failing_since: str


_WebhookDelivery = TypedDict("_WebhookDelivery", {"message_id": "str", "type": "str", "at": "str", "attempt": "int", "ok": "bool", "duration_ms": "int"})


class WebhookDelivery(_WebhookDelivery, total=False):
    notification_id: str
    status: int
    reason: str
    next_attempt_at: str


HealthLiveAnswer = TypedDict("HealthLiveAnswer", {"ok": "bool", "features": "List[str]", "version": "str"})


_HealthStatusAnswer = TypedDict("_HealthStatusAnswer", {"ok": "bool", "aliases": "List[str]", "providers": "List[HealthStatusAnswerProvidersItem]"})


class HealthStatusAnswer(_HealthStatusAnswer, total=False):
    message: str


HealthStatusAnswerProvidersItem = TypedDict("HealthStatusAnswerProvidersItem", {"id": "str", "kind": "str", "label": "str", "healthy": "bool"})


_KeysListAnswer = TypedDict("_KeysListAnswer", {"keys": "List[Key]"})


class KeysListAnswer(_KeysListAnswer, total=False):
    next_cursor: str


KeysCreateBody = TypedDict("KeysCreateBody", {"name": "Union[str, None]", "scopes": "Union[List[Scope], None]", "tool_level": "Union[Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"], None]", "models": "Union[List[str], None]", "spend_cap_micro_usd": "Union[int, None]", "expires_at": "Union[str, None]", "device_id": "Union[str, None]"}, total=False)


KeysUpdateBody = TypedDict("KeysUpdateBody", {"name": "Union[str, None]", "status": "Union[Literal[\"active\", \"paused\"], None]", "scopes": "Union[List[Scope], None]", "tool_level": "Union[Literal[\"l0\", \"l1\", \"l2\", \"l3_sandbox\"], None]", "models": "Union[List[str], None]", "spend_cap_micro_usd": "Union[int, None]", "expires_at": "Union[str, None]"}, total=False)


KeysRevokeAnswer = TypedDict("KeysRevokeAnswer", {"deleted": "Literal[True]", "id": "str", "children_revoked": "int", "children_left": "int"})


_DevicesListAnswer = TypedDict("_DevicesListAnswer", {"devices": "List[Device]"})


class DevicesListAnswer(_DevicesListAnswer, total=False):
    next_cursor: str


DevicesRemoveAnswer = TypedDict("DevicesRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})


HostsListAnswer = TypedDict("HostsListAnswer", {"hosts": "List[Host]"})


_HostsExecBody = TypedDict("_HostsExecBody", {"op": "str"})


class HostsExecBody(_HostsExecBody, total=False):
    args: Union[Dict[str, Any], None]
    timeout_ms: Union[int, None]


_HostsResultBody = TypedDict("_HostsResultBody", {"ok": "bool"})


class HostsResultBody(_HostsResultBody, total=False):
    result: Any
    error: Union[str, None]


HostsResultAnswer = TypedDict("HostsResultAnswer", {"ok": "Literal[True]"})


HostsResultsBody = TypedDict("HostsResultsBody", {"results": "List[HostsResultsBodyResultsItem]"})


_HostsResultsBodyResultsItem = TypedDict("_HostsResultsBodyResultsItem", {"ok": "bool", "req_id": "str"})


class HostsResultsBodyResultsItem(_HostsResultsBodyResultsItem, total=False):
    result: Any
    error: Union[str, None]


HostsResultsAnswer = TypedDict("HostsResultsAnswer", {"taken": "List[bool]"})


HostsInviteBody = TypedDict("HostsInviteBody", {"name": "Union[str, None]", "device_id": "Union[str, None]"}, total=False)


HostsInviteAnswer = TypedDict("HostsInviteAnswer", {"code": "str", "expires_at": "str", "path": "str", "sha256": "str"})


HostsRedeemInviteBody = TypedDict("HostsRedeemInviteBody", {"code": "str", "device": "HostsRedeemInviteBodyDevice"})


HostsRedeemInviteBodyDevice = TypedDict("HostsRedeemInviteBodyDevice", {"id": "str", "name": "str"})


HostsRedeemInviteAnswer = TypedDict("HostsRedeemInviteAnswer", {"key": "str", "name": "str", "device_id": "str"})


_NotificationsListAnswer = TypedDict("_NotificationsListAnswer", {"notifications": "List[Notification]", "unread_count": "int"})


class NotificationsListAnswer(_NotificationsListAnswer, total=False):
    next_cursor: str


NotificationsGetAnswer = TypedDict("NotificationsGetAnswer", {"notification": "Notification"})


NotificationsUpdateBody = TypedDict("NotificationsUpdateBody", {"read": "Union[bool, None]", "archived": "Union[bool, None]"}, total=False)


NotificationsUpdateAnswer = TypedDict("NotificationsUpdateAnswer", {"notification": "Notification"})


NotificationsReadAllAnswer = TypedDict("NotificationsReadAllAnswer", {"updated": "int"})


NotificationsSendTestAnswer = TypedDict("NotificationsSendTestAnswer", {"notification": "Notification", "targets": "List[NotificationsSendTestAnswerTargetsItem]"})


_NotificationsSendTestAnswerTargetsItem = TypedDict("_NotificationsSendTestAnswerTargetsItem", {"channel": "str", "sent": "bool"})


class NotificationsSendTestAnswerTargetsItem(_NotificationsSendTestAnswerTargetsItem, total=False):
    to: str
    reason: str


NotificationsVapidKeyAnswer = TypedDict("NotificationsVapidKeyAnswer", {"public_key": "str"})


NotificationsSubscribeBody = TypedDict("NotificationsSubscribeBody", {"endpoint": "str", "keys": "NotificationsSubscribeBodyKeys"})


NotificationsSubscribeBodyKeys = TypedDict("NotificationsSubscribeBodyKeys", {"p256dh": "str", "auth": "str"})


NotificationsSubscribeAnswer = TypedDict("NotificationsSubscribeAnswer", {"subscription": "NotificationsSubscribeAnswerSubscription"})


NotificationsSubscribeAnswerSubscription = TypedDict("NotificationsSubscribeAnswerSubscription", {"id": "str", "endpoint": "str", "created_at": "str"})


NotificationsUnsubscribeBody = TypedDict("NotificationsUnsubscribeBody", {"endpoint": "str"})


NotificationsUnsubscribeAnswer = TypedDict("NotificationsUnsubscribeAnswer", {"deleted": "Literal[True]", "id": "str"})


_NotificationsListWebhooksAnswer = TypedDict("_NotificationsListWebhooksAnswer", {"webhooks": "List[Webhook]"})


class NotificationsListWebhooksAnswer(_NotificationsListWebhooksAnswer, total=False):
    next_cursor: str


_NotificationsCreateWebhookBody = TypedDict("_NotificationsCreateWebhookBody", {"name": "str", "url": "str"})


class NotificationsCreateWebhookBody(_NotificationsCreateWebhookBody, total=False):
    format: Union[Literal["svc", "slack", "ntfy"], None]
    types: Union[List[str], None]
    headers: Union[Dict[str, str], None]
    enabled: Union[bool, None]


NotificationsUpdateWebhookBody = TypedDict("NotificationsUpdateWebhookBody", {"name": "Union[str, None]", "url": "Union[str, None]", "format": "Union[Literal[\"svc\", \"slack\", \"ntfy\"], None]", "types": "Union[List[str], None]", "headers": "Union[Dict[str, str], None]", "enabled": "Union[Union[bool, None], None]"}, total=False)


NotificationsRemoveWebhookAnswer = TypedDict("NotificationsRemoveWebhookAnswer", {"deleted": "Literal[True]", "id": "str"})


_NotificationsTestWebhookAnswer = TypedDict("_NotificationsTestWebhookAnswer", {"ok": "bool", "duration_ms": "int"})


class NotificationsTestWebhookAnswer(_NotificationsTestWebhookAnswer, total=False):
    status: int
    reason: str


NotificationsWebhookDeliveriesAnswer = TypedDict("NotificationsWebhookDeliveriesAnswer", {"deliveries": "List[WebhookDelivery]"})


_HeartbeatsListAnswer = TypedDict("_HeartbeatsListAnswer", {"heartbeats": "List[Heartbeat]"})


class HeartbeatsListAnswer(_HeartbeatsListAnswer, total=False):
    next_cursor: str


_HeartbeatsCreateBody = TypedDict("_HeartbeatsCreateBody", {"name": "str"})


class HeartbeatsCreateBody(_HeartbeatsCreateBody, total=False):
    slug: Union[str, None]
    period_s: Union[int, None]
    cron: Union[str, None]
    grace_s: Union[int, None]
    tz: Union[str, None]


HeartbeatsUpdateBody = TypedDict("HeartbeatsUpdateBody", {"name": "Union[str, None]", "slug": "Union[str, None]", "period_s": "Union[int, None]", "cron": "Union[str, None]", "grace_s": "Union[int, None]", "tz": "Union[str, None]", "paused": "Union[bool, None]"}, total=False)


HeartbeatsRemoveAnswer = TypedDict("HeartbeatsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})


HeartbeatsRotateAnswer = TypedDict("HeartbeatsRotateAnswer", {"ping_url": "str"})


HeartbeatsPingsAnswer = TypedDict("HeartbeatsPingsAnswer", {"pings": "List[Ping]"})


HeartbeatsGetPingKeyAnswer = TypedDict("HeartbeatsGetPingKeyAnswer", {"created_at": "str"})


HeartbeatsRemovePingKeyAnswer = TypedDict("HeartbeatsRemovePingKeyAnswer", {"deleted": "Literal[True]"})


_HeartbeatsListBadgesAnswer = TypedDict("_HeartbeatsListBadgesAnswer", {"badges": "List[Badge]"})


class HeartbeatsListBadgesAnswer(_HeartbeatsListBadgesAnswer, total=False):
    next_cursor: str


HeartbeatsRemoveBadgeAnswer = TypedDict("HeartbeatsRemoveBadgeAnswer", {"deleted": "Literal[True]"})


HeartbeatsRemoveAccountBadgeAnswer = TypedDict("HeartbeatsRemoveAccountBadgeAnswer", {"deleted": "Literal[True]"})


_SchedulesListAnswer = TypedDict("_SchedulesListAnswer", {"schedules": "List[Schedule]", "pause": "SchedulesListAnswerPause"})


class SchedulesListAnswer(_SchedulesListAnswer, total=False):
    next_cursor: str


_SchedulesListAnswerPause = TypedDict("_SchedulesListAnswerPause", {"paused": "bool"})


class SchedulesListAnswerPause(_SchedulesListAnswerPause, total=False):
    until: str
    resume_policy: Literal["skip", "backfill"]


_SchedulesRunAnswer = TypedDict("_SchedulesRunAnswer", {"queued": "bool"})


class SchedulesRunAnswer(_SchedulesRunAnswer, total=False):
    run_id: str


_SchedulesRunsAnswer = TypedDict("_SchedulesRunsAnswer", {"runs": "List[Run]"})


class SchedulesRunsAnswer(_SchedulesRunsAnswer, total=False):
    next_cursor: str


SchedulesApproveCommandBody = TypedDict("SchedulesApproveCommandBody", {"command_hash": "str"})


SchedulesApproveCommandAnswer = TypedDict("SchedulesApproveCommandAnswer", {"approved": "bool", "device_id": "str"})


SchedulesRevokeCommandAnswer = TypedDict("SchedulesRevokeCommandAnswer", {"approved": "bool", "device_id": "str"})


SchedulesPreviewBody = TypedDict("SchedulesPreviewBody", {"text": "Union[str, None]", "trigger": "Any", "tz": "Any"}, total=False)


_SchedulesPreviewAnswer = TypedDict("_SchedulesPreviewAnswer", {"ok": "bool"})


class SchedulesPreviewAnswer(_SchedulesPreviewAnswer, total=False):
    reason: Literal["not_understood", "invalid"]
    trigger: Trigger
    next_runs: List[str]
    dst_warning: bool


SchedulesPauseBody = TypedDict("SchedulesPauseBody", {"until": "Union[str, None]", "resume_policy": "Union[Literal[\"skip\", \"backfill\"], None]"}, total=False)


_SchedulesPauseAnswer = TypedDict("_SchedulesPauseAnswer", {"paused": "bool"})


class SchedulesPauseAnswer(_SchedulesPauseAnswer, total=False):
    until: str
    resume_policy: Literal["skip", "backfill"]


SchedulesResumeBody = TypedDict("SchedulesResumeBody", {"backfill": "Union[bool, None]"}, total=False)


SchedulesResumeAnswer = TypedDict("SchedulesResumeAnswer", {"paused": "bool", "backfilled": "int"})


SchedulesTemplatesAnswer = TypedDict("SchedulesTemplatesAnswer", {"templates": "List[SchedulesTemplatesAnswerTemplatesItem]"})


SchedulesTemplatesAnswerTemplatesItem = TypedDict("SchedulesTemplatesAnswerTemplatesItem", {"id": "str", "name": "str", "description": "str", "params": "List[SchedulesTemplatesAnswerTemplatesItemParamsItem]", "schedule": "Dict[str, Any]"})


_SchedulesTemplatesAnswerTemplatesItemParamsItem = TypedDict("_SchedulesTemplatesAnswerTemplatesItemParamsItem", {"name": "str", "description": "str", "required": "bool"})


class SchedulesTemplatesAnswerTemplatesItemParamsItem(_SchedulesTemplatesAnswerTemplatesItemParamsItem, total=False):
    default: str


_SchedulesUseTemplateBody = TypedDict("_SchedulesUseTemplateBody", {"template": "str"})


class SchedulesUseTemplateBody(_SchedulesUseTemplateBody, total=False):
    params: Union[Dict[str, Any], None]


SchedulesUseTemplateAnswer = TypedDict("SchedulesUseTemplateAnswer", {"schedule": "Schedule"})


SchedulerClaimBody = TypedDict("SchedulerClaimBody", {"device_id": "Union[str, None]", "kinds": "Union[List[Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]], None]", "tags": "Union[List[str], None]", "again": "Union[bool, None]", "wait_s": "Union[float, None]"}, total=False)


SchedulerClaimAnswer = TypedDict("SchedulerClaimAnswer", {"run": "Union[SchedulerClaimAnswerRun1, None]"})


_SchedulerClaimAnswerRun1 = TypedDict("_SchedulerClaimAnswerRun1", {"id": "str", "attempt": "int", "schedule_id": "str", "name": "str", "kind": "Literal[\"agent\", \"shell\", \"http\", \"phone_action\"]", "spec": "Dict[str, Any]", "scheduled_for": "str", "timeout_s": "int", "lease_expires_at": "str"})


class SchedulerClaimAnswerRun1(_SchedulerClaimAnswerRun1, total=False):
    command_hash: str


_SchedulerHeartbeatBody = TypedDict("_SchedulerHeartbeatBody", {"attempt": "int"})


class SchedulerHeartbeatBody(_SchedulerHeartbeatBody, total=False):
    log_tail: Union[str, None]
    cost_micro_usd: Union[int, None]


SchedulerHeartbeatAnswer = TypedDict("SchedulerHeartbeatAnswer", {"lease_expires_at": "str", "cancel": "bool"})


_SchedulerResultBody = TypedDict("_SchedulerResultBody", {"attempt": "int", "ok": "bool"})


class SchedulerResultBody(_SchedulerResultBody, total=False):
    exit_code: Union[int, None]
    error: Union[str, None]
    log_tail: Union[str, None]
    cost_micro_usd: Union[int, None]
    session_id: Union[str, None]
    not_started: Union[Literal["not_approved"], None]
    output_hash: Union[str, None]


SchedulerResultAnswer = TypedDict("SchedulerResultAnswer", {"run": "Run"})


SchedulerDecideBody = TypedDict("SchedulerDecideBody", {"decision": "Literal[\"approve\", \"skip\"]"})


SchedulerDecideAnswer = TypedDict("SchedulerDecideAnswer", {"run": "Run"})


SchedulerCancelAnswer = TypedDict("SchedulerCancelAnswer", {"run": "Run"})


_SchedulerRunsAnswer = TypedDict("_SchedulerRunsAnswer", {"runs": "List[Run]"})


class SchedulerRunsAnswer(_SchedulerRunsAnswer, total=False):
    next_cursor: str


SchedulerAppendLogAnswer = TypedDict("SchedulerAppendLogAnswer", {"bytes": "int", "full": "bool"})


_SchedulerHostsAnswer = TypedDict("_SchedulerHostsAnswer", {"hosts": "List[SchedulerHost]"})


class SchedulerHostsAnswer(_SchedulerHostsAnswer, total=False):
    next_cursor: str


SchedulerUpdateHostBody = TypedDict("SchedulerUpdateHostBody", {"name": "Union[str, None]", "tags": "Union[List[str], None]", "paused": "Union[bool, None]", "max_parallel": "Union[int, None]"}, total=False)


SchedulerRemoveHostAnswer = TypedDict("SchedulerRemoveHostAnswer", {"deleted": "Literal[True]", "id": "str"})


_SchedulerReportNativeBody = TypedDict("_SchedulerReportNativeBody", {"schedule_id": "str", "scheduled_for": "str", "started_at": "str", "finished_at": "str", "ok": "bool"})


class SchedulerReportNativeBody(_SchedulerReportNativeBody, total=False):
    exit_code: Union[int, None]
    error: Union[str, None]
    log_tail: Union[str, None]


SchedulerReportNativeAnswer = TypedDict("SchedulerReportNativeAnswer", {"run": "Run"})


SchedulerFireAnswer = TypedDict("SchedulerFireAnswer", {"queued": "int"})


SandboxesWriteFileAnswer = TypedDict("SandboxesWriteFileAnswer", {"path": "str", "bytes": "int", "sha256": "str", "generation": "int"})


SandboxesListFilesAnswer = TypedDict("SandboxesListFilesAnswer", {"entries": "List[SandboxesListFilesAnswerEntriesItem]"})


SandboxesListFilesAnswerEntriesItem = TypedDict("SandboxesListFilesAnswerEntriesItem", {"path": "str", "bytes": "int", "type": "Literal[\"file\", \"directory\", \"symlink\", \"other\"]", "mtime": "str"})


SandboxesArtifactsAnswer = TypedDict("SandboxesArtifactsAnswer", {"data": "List[Artifact]"})


SandboxesSnapshotBody = TypedDict("SandboxesSnapshotBody", {"name": "Union[str, None]"}, total=False)


_SandboxesSnapshotAnswer = TypedDict("_SandboxesSnapshotAnswer", {"object": "Literal[\"snapshot\"]", "id": "str", "bytes": "int", "sha256": "str", "scan": "Literal[\"clean\", \"infected\", \"error\"]", "expires_at": "str"})


class SandboxesSnapshotAnswer(_SandboxesSnapshotAnswer, total=False):
    name: str
    url: str


_SandboxesPreviewBody = TypedDict("_SandboxesPreviewBody", {"port": "int"})


class SandboxesPreviewBody(_SandboxesPreviewBody, total=False):
    ttl_seconds: Union[int, None]


SandboxesPreviewAnswer = TypedDict("SandboxesPreviewAnswer", {"port": "int", "url": "str", "expires_at": "str"})


_SandboxesListAnswer = TypedDict("_SandboxesListAnswer", {"object": "Literal[\"list\"]", "data": "List[Sandbox]"})


class SandboxesListAnswer(_SandboxesListAnswer, total=False):
    next_cursor: str


_SandboxesRunCodeBody = TypedDict("_SandboxesRunCodeBody", {"code": "str"})


class SandboxesRunCodeBody(_SandboxesRunCodeBody, total=False):
    timeout_seconds: Union[int, None]


SandboxesResetKernelAnswer = TypedDict("SandboxesResetKernelAnswer", {"id": "str", "reset": "Literal[True]"})


SandboxesPauseBody = TypedDict("SandboxesPauseBody", {"files_only": "Union[bool, None]"}, total=False)


_SandboxesForkBody = TypedDict("_SandboxesForkBody", {"count": "int"})


class SandboxesForkBody(_SandboxesForkBody, total=False):
    ttl_seconds: Union[int, None]


SandboxesForkAnswer = TypedDict("SandboxesForkAnswer", {"object": "Literal[\"list\"]", "parent_id": "str", "data": "List[ForkedSandbox]"})


_ChatCompletionsBody = TypedDict("_ChatCompletionsBody", {"model": "str", "messages": "List[ChatCompletionsBodyMessagesItem]"})


class ChatCompletionsBody(_ChatCompletionsBody, total=False):
    stream: Union[bool, None]
    tools: Union[List[ChatCompletionsBodyTools1Item], None]
    container: Union[Union[str, ChatCompletionsBodyContainer12], None]


ChatCompletionsBodyTools1Item = TypedDict("ChatCompletionsBodyTools1Item", {}, total=False)


ChatCompletionsBodyContainer12 = TypedDict("ChatCompletionsBodyContainer12", {}, total=False)


ChatCompletionsBodyMessagesItem = TypedDict("ChatCompletionsBodyMessagesItem", {}, total=False)


_MessagesCreateBody = TypedDict("_MessagesCreateBody", {"model": "str", "messages": "List[MessagesCreateBodyMessagesItem]", "max_tokens": "int"})


class MessagesCreateBody(_MessagesCreateBody, total=False):
    stream: Union[bool, None]
    tools: Union[List[MessagesCreateBodyTools1Item], None]
    container: Union[Union[str, MessagesCreateBodyContainer12], None]


MessagesCreateBodyTools1Item = TypedDict("MessagesCreateBodyTools1Item", {}, total=False)


MessagesCreateBodyContainer12 = TypedDict("MessagesCreateBodyContainer12", {}, total=False)


MessagesCreateBodyMessagesItem = TypedDict("MessagesCreateBodyMessagesItem", {}, total=False)


MessagesCountTokensBody = TypedDict("MessagesCountTokensBody", {"model": "str", "messages": "List[MessagesCountTokensBodyMessagesItem]"})


MessagesCountTokensBodyMessagesItem = TypedDict("MessagesCountTokensBodyMessagesItem", {}, total=False)


_ResponsesCreateBody = TypedDict("_ResponsesCreateBody", {"model": "str"})


class ResponsesCreateBody(_ResponsesCreateBody, total=False):
    input: Union[str, List[ResponsesCreateBodyInput2Item], None]
    stream: Union[bool, None]


ResponsesCreateBodyInput2Item = TypedDict("ResponsesCreateBodyInput2Item", {}, total=False)


EmbeddingsCreateBody = TypedDict("EmbeddingsCreateBody", {"model": "str", "input": "Union[str, List[Any]]"})


ModelsListAnswer = TypedDict("ModelsListAnswer", {"object": "Literal[\"list\"]", "data": "List[Model]", "has_more": "Literal[False]", "first_id": "Union[str, None]", "last_id": "Union[str, None]"})


AudioSpeechBody = TypedDict("AudioSpeechBody", {"model": "str", "input": "str"})


_TokensCreateBody = TypedDict("_TokensCreateBody", {"scope": "Literal[\"realtime\", \"audio\", \"embeddings\"]"})


class TokensCreateBody(_TokensCreateBody, total=False):
    ttl: Union[int, None]


_SessionsListAnswer = TypedDict("_SessionsListAnswer", {"sessions": "List[Session]"})


class SessionsListAnswer(_SessionsListAnswer, total=False):
    next_cursor: str


SessionsCreateBody = TypedDict("SessionsCreateBody", {"title": "Union[str, None]", "metadata": "Union[Dict[str, Any], None]"}, total=False)


SessionsUpdateBody = TypedDict("SessionsUpdateBody", {"title": "Union[str, None]", "metadata": "Union[Dict[str, Any], None]"}, total=False)


SessionsRemoveAnswer = TypedDict("SessionsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})


SessionsTakeLeaseAnswer = TypedDict("SessionsTakeLeaseAnswer", {"lease": "SessionLease"})


SessionsDropLeaseAnswer = TypedDict("SessionsDropLeaseAnswer", {"released": "bool"})


SessionsAppendBody = TypedDict("SessionsAppendBody", {"expected_seq": "int", "events": "List[NewSessionEvent]"})


SessionsAppendAnswer = TypedDict("SessionsAppendAnswer", {"seq": "int"})


SessionsEventsAnswer = TypedDict("SessionsEventsAnswer", {"events": "List[SessionEvent]", "seq": "int"})


_SessionsSendControlBody = TypedDict("_SessionsSendControlBody", {"type": "str"})


class SessionsSendControlBody(_SessionsSendControlBody, total=False):
    text: Union[str, None]
    target_device_id: Union[str, None]


_PromptsListAnswer = TypedDict("_PromptsListAnswer", {"prompts": "List[Prompt]"})


class PromptsListAnswer(_PromptsListAnswer, total=False):
    next_cursor: str


_PromptsCreateBody = TypedDict("_PromptsCreateBody", {"prompt": "str"})


class PromptsCreateBody(_PromptsCreateBody, total=False):
    source: Union[str, None]
    goal_key: Union[str, None]
    not_before: Union[str, None]
    auto_run: Union[bool, None]
    target_device_id: Union[str, None]


PromptsCreateAnswer = TypedDict("PromptsCreateAnswer", {"created": "bool", "id": "str", "prompt": "Prompt"})


PromptsVerifyAllBody = TypedDict("PromptsVerifyAllBody", {"ids": "Union[List[str], None]", "cursor": "Union[str, None]"}, total=False)


_PromptsVerifyAllAnswer = TypedDict("_PromptsVerifyAllAnswer", {"results": "List[PromptsVerifyAllAnswerResultsItem]"})


class PromptsVerifyAllAnswer(_PromptsVerifyAllAnswer, total=False):
    next_cursor: str


_PromptsVerifyAllAnswerResultsItem = TypedDict("_PromptsVerifyAllAnswerResultsItem", {"id": "str", "ok": "bool"})


class PromptsVerifyAllAnswerResultsItem(_PromptsVerifyAllAnswerResultsItem, total=False):
    prompt: Prompt
    error: PromptsVerifyAllAnswerResultsItemError


PromptsVerifyAllAnswerResultsItemError = TypedDict("PromptsVerifyAllAnswerResultsItemError", {"code": "str", "message": "str"})


PromptsGetAnswer = TypedDict("PromptsGetAnswer", {"prompt": "Prompt"})


PromptsUpdateBody = TypedDict("PromptsUpdateBody", {"not_before": "Union[str, None]", "status": "Union[Literal[\"open\", \"done\", \"dismissed\"], None]", "auto_run": "Union[Union[bool, None], None]", "target_device_id": "Union[str, None]", "stop": "Union[bool, None]"}, total=False)


PromptsUpdateAnswer = TypedDict("PromptsUpdateAnswer", {"prompt": "Prompt"})


PromptsRemoveAnswer = TypedDict("PromptsRemoveAnswer", {"deleted": "Literal[True]", "id": "str"})


PromptsLaunchBody = TypedDict("PromptsLaunchBody", {"target_device_id": "Union[str, None]", "force": "Union[bool, None]", "stop": "Union[bool, None]"}, total=False)


PromptsLaunchAnswer = TypedDict("PromptsLaunchAnswer", {"prompt": "Prompt"})


PromptsMatchBody = TypedDict("PromptsMatchBody", {"match_ref": "str", "match_turn_id": "str"})


PromptsMatchAnswer = TypedDict("PromptsMatchAnswer", {"prompt": "Prompt"})


PromptsVerifyBody = TypedDict("PromptsVerifyBody", {"diff": "Union[str, None]", "files": "Union[List[PromptsVerifyBodyFilesItem], None]"}, total=False)


PromptsVerifyBodyFilesItem = TypedDict("PromptsVerifyBodyFilesItem", {"path": "str", "content": "str"})


PromptsVerifyAnswer = TypedDict("PromptsVerifyAnswer", {"prompt": "Prompt"})


_ToolsSearchBody = TypedDict("_ToolsSearchBody", {"query": "str"})


class ToolsSearchBody(_ToolsSearchBody, total=False):
    limit: Union[int, None]
    domains: Union[List[str], None]
    exclude_domains: Union[List[str], None]
    freshness: Union[Literal["day", "week", "month", "year"], None]
    lang: Union[str, None]


_ToolsFetchBody = TypedDict("_ToolsFetchBody", {"url": "str"})


class ToolsFetchBody(_ToolsFetchBody, total=False):
    max_chars: Union[int, None]
    format: Union[Literal["text", "markdown", "html"], None]


EventsListAnswer = TypedDict("EventsListAnswer", {"events": "List[Change]", "cursor": "str", "missed": "bool"})


ExecFrame = Union[ExecFrameOf1, ExecFrameOf2, ExecFrameOf3, ExecFrameOf4, ExecFrameOf5]
NewSchedule = Union[NewScheduleOf1, NewScheduleOf2, NewScheduleOf3, NewScheduleOf4, NewScheduleOf5]
Scope = Literal["*", "keys", "keys:read", "devices", "devices:read", "hosts", "hosts:read", "hosts:exec", "hosts:serve", "notifications", "notifications:read", "heartbeats", "heartbeats:read", "schedules", "schedules:read", "scheduler", "scheduler:read", "scheduler:serve", "sandboxes", "sandboxes:read", "usage", "usage:read", "audit", "audit:read", "chat", "chat:read", "messages", "messages:read", "responses", "responses:read", "embeddings", "embeddings:read", "models", "models:read", "receipt", "receipt:read", "audio", "audio:read", "realtime", "realtime:read", "tokens", "tokens:read", "sessions", "sessions:read", "sessions:serve", "prompts", "prompts:read", "tools", "tools:read", "mcp", "mcp:read"]
Target = Union[TargetOf1, TargetOf2, TargetOf3, TargetOf4, TargetOf5]
Trigger = Union[TriggerOf1, TriggerOf2, TriggerOf3, TriggerOf4, TriggerOf5]
TriggerInput = Union[TriggerInputOf1, TriggerInputOf2, TriggerInputOf3, TriggerInputOf4, TriggerInputOf5]
