/**
 * The ids and secrets of the examples: one thing has one id in all of them. The test that sends the examples puts real
 * ones in their place, so an example that refers to something uses these. No secret here is real.
 */
export const samples = {
  /** The key that calls. */
  caller: '3d0c6f55-4f0f-4d0e-9c39-6a1f0f5f7a21',
  /** Another API key, made by it. */
  connection: '7f0e6a52-1b1f-4c55-9a4e-0f2f0a9f6f31',
  key: '2315d43c-7548-43d8-8270-c3db57c60417',
  keyText: 'svc_EXAMPLEEXAMPLEEXAMPLEEXAMPLEEXAMPLE000',
  /** A laptop that calls. */
  device: 'b364c3c0-80e4-4aa7-92c7-a95b47661a80',
  /** A server that is present as a host. */
  host: 'b919a8e7-e0a8-4cb1-b863-21287b1c951e',
  /** An operation that was sent to the host and has no result yet. */
  call: 'a550cf17-9249-4991-a98c-ede5b9ae7f3d',
  /** A place in the account's changes. */
  cursor: 'EXAMPLEEXAMPLEEXAMPLEEXAMPLE0000',
  /** A command that was sent to the host, which does it by itself. */
  exec: 'c6f1f5a3-0d0b-4c55-8d7e-3f0c1d2a9b64',
  /** A code with which a machine becomes a host. */
  invite: 'EXAMPLEEXAMPLEEXAMPLE000',
  /** A shell schedule whose command the host has approved. */
  schedule: '83edd081-f7c2-446d-8670-da4a92f11786',
  /** A run that the host holds. */
  run: '64811454-2da9-4f85-bcab-60d6a6db2bb1',
  /** A run that waits for a person. */
  waitingRun: '15da3b35-656e-4b62-a470-5924b3131a96',
  /** The record of a machine that claims runs. */
  machine: '59f37c6d-df19-47b3-823b-6e290ccdbb42',
  /** An unread notification. */
  notification: 'fc712403-999d-476f-a490-aa31da878226',
  /** A subscribed browser. */
  subscription: 'c9ae218b-e5c7-4d38-9aa7-20685f6f072d',
  endpoint: 'https://push.example.com/send/EXAMPLE-subscription',
  /** A webhook that takes what it is sent. */
  webhook: '0c0b4f1e-6a6a-4f53-9b8e-3a7f4f0f9d42',
  webhookUrl: 'https://hooks.example.com/EXAMPLE-webhook',
  webhookSecret: 'whsec_RVhBTVBMRUVYQU1QTEVFWEFNUExFRVhBTVBMRQ==',
  /** A heartbeat monitor. */
  heartbeat: 'f7e9c97a-7589-4168-a06a-412579d05135',
  pingToken: 'EXAMPLE-ping-token-EXAMPLE-00000',
  /** The ping key of the account. */
  pingKey: 'pk_EXAMPLE-ping-key-EXAMPLE-0000000',
  /** Of the badge of the monitor. */
  badgeToken: 'EXAMPLE-badge-token-EXAMPLE-0000',
  /** One execution of a monitored job. */
  rid: 'df7cce59-99ee-443a-b876-fddd3a42d2ea',
  /** A running sandbox. */
  sandbox: '2e3c744d-df23-40e8-8cb3-346e95b8226e',
  pausedSandbox: '327c8aa4-3db3-46b3-a601-280c04e9af8f',
  /** A file that the sandbox handed out. */
  artifact: 'acd45255-3aa7-4556-bce5-3feaa3b3b6db',
  signature: 'EXAMPLE-signature-EXAMPLE-signature-EXAMPLE',
  expires: '1793617200',
  /** The trace id of a finished request to a model. */
  trace: 'EXAMPLE-trace-EXAMPLE',
  /** A shared session with one turn. */
  session: '9d2f5b0e-5a8c-4a57-8f0e-2f4f0f1d6c11',
  /** A control of it that is not acknowledged yet. */
  control: 'e6a0b1c4-7c57-4f0b-9a51-6f6a1c0d2b7e',
  /** A prompt that is open. */
  prompt: '4b8f7c52-1d3e-4c0a-b7d9-0a5e6f3c2d18',
  /** An upload that is complete. */
  upload: 'b0a7c1de-6f4d-4a39-8d0c-1f2e3d4c5b6a',
  /** Another one, that nobody needs. */
  otherUpload: '5c4b3a29-1807-4f6e-9d5c-4b3a29180716',
  /** A recording whose transcript is ready. */
  transcript: '6f1c2b3a-4d5e-4f60-8a71-92b3c4d5e6f7',
  /** One that is under way. */
  recording: '0a1b2c3d-4e5f-4061-8273-94a5b6c7d8e9',
  /** An upload that holds sound. */
  soundUpload: '7e6d5c4b-3a29-4817-9605-f4e3d2c1b0a9',
  /** A mark in the recording. */
  bookmark: 'd4c3b2a1-9f8e-4d7c-8b6a-5f4e3d2c1b0a',
  /** A folder of transcripts. */
  folder: '1f2e3d4c-5b6a-4798-8697-a5b4c3d2e1f0',
  /** A link to the transcript, and the token of one. */
  share: '9b8a7f6e-5d4c-4b3a-8291-807f6e5d4c3b',
  shareToken: 'EXAMPLE-share-token-EXAMPLE-share-token-000',
  /** The account of the key that calls. */
  account: '0b1a2938-4756-4657-8493-a2b1c0d9e8f7',
  /** Somebody else who uses the installation. */
  person: '1d2e3f40-5162-4738-894a-5b6c7d8e9f01',
  personEmail: 'ioana@example.com',
  /** An address that has no account yet. */
  newEmail: 'radu@example.com',
  /** Where the platform may put backups, and one that is there. */
  backupPlace: '/mnt/backup/svc',
  backupFile: 'svc-box-0123456789ab-2026-11-02T030000Z.tar.zst',
  /** The browser that calls, and another one of the same person. */
  login: '2e3f4051-6273-4849-8a5b-6c7d8e9f0112',
  otherLogin: '3f405162-7384-495a-9b6c-7d8e9f011223',
  password: 'EXAMPLE four purple kettles',
  passkey: '40516273-8495-4a6b-8c7d-8e9f01122334',
  /** A link that a phone took. */
  link: '51627384-95a6-4b7c-9d8e-9f0112233445',
  /** A project. */
  project: '2c1f0e9d-8b7a-4f69-9584-73625140f3e2',
  /** A project without environments. */
  otherProject: 'f0e1d2c3-b4a5-4968-8778-695a4b3c2d1e',
  /** An environment in it, which waits for a machine. */
  environment: 'c3d2e1f0-a9b8-4796-8574-635241302f1e',
  /** A token that enrols a machine in it. */
  enrolToken: 'svc_env_EXAMPLE-enrol-token-EXAMPLE-0000',
  /** Somebody with a role in it, and an account that has none yet. */
  member: '84736251-40f3-4e2d-91c0-bfa9e8d7c6b5',
  memberEmail: 'mihai@example.com',
  /** An environment of somebody else, who invites the account. */
  invitedTo: '7c1d2e3f-4a5b-4c6d-8e7f-90a1b2c3d4e5',
  /** A page that can be fetched. */
  page: 'https://widgets.example.com/about',
} as const;
/** Ids that the examples refer to. */
export type Sample = keyof typeof samples;
