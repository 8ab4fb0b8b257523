/** English texts of notifications. */
export const enAlerts = {
  monitors: {
    down: (name: string) => `${name} is down`,
    up: (name: string) => `${name} is up again`,
    /** Why; spans are such as "1 h 30 min". */
    reasons: {
      failed: () => 'The job failed.',
      exit: (code: string) => `The job ended with exit code ${code}.`,
      unfinished: (grace: string) => `It started and did not finish within ${grace}.`,
      overdue: (grace: string, period: string) => `No success within ${period} and ${grace} of grace.`,
      missed: (grace: string, at: string) => `No success by ${at} and within ${grace} of grace.`,
      silenced: () => 'It was silenced, and is still down.',
      succeeded: () => 'The job succeeded.',
    },
  },
  runs: {
    approval: (name: string) => `${name} awaits approval`,
    approvalText: 'Approve or skip this run; it is skipped by itself after 24 hours.',
    late: (name: string) => `${name} was not started`,
    lateText: (at: string) => `It was due at ${at}. Check that a host for it is online and has approved its command.`,
    mustApprove: (host: string, name: string) => `${host} must approve ${name}`,
    mustApproveCommand: (id: string) =>
      `Its command was not approved on that machine; the run waits. There, at a terminal: svc host approve ${id}`,
    mustApprovePrompt: (id: string) =>
      `Its prompt was not approved on that machine; the run waits. There, at a terminal: svc host approve ${id}`,
    exit: (code: string) => `exit code ${code}`,
    budget: (name: string) => `${name} reached its daily budget`,
    budgetText: 'No more runs are created today. Raise budget_micro_usd_per_day to run it again.',
    failed: (name: string) => `${name} failed`,
    timedOut: (name: string) => `${name} timed out`,
    failedText: 'The run failed.',
    succeeded: (name: string) => `${name} succeeded`,
    changed: (name: string) => `${name}: the output changed`,
    recovered: (name: string) => `${name} succeeds again`,
    off: (name: string) => `${name} was switched off`,
    offText: (failures: string) => `${failures} runs failed in a row. Mend the cause, then enable the schedule again.`,
  },
  prompts: {
    due: (title: string) => `Due: ${title}`,
    notLaunched: (why: string) => `It was not launched: ${why}`,
    failed: (title: string) => `Failed: ${title}`,
    answered: (title: string) => `Answered: ${title}`,
    answeredText: 'Its turn ended; the session has what was said.',
    agentExit: (code: string) => `Its agent ended with ${code}.`,
    agentFailed: 'Its agent failed.',
    keyEnded: 'The key that asked for this has ended. Launch it again with one that may do this.',
    waits: (title: string) => `Waits: ${title}`,
    waitsFor: (device: string) => `Its device has not taken it; it goes to ${device}.`,
    waitsForAny: 'It goes to the next desktop or Android device that listens with an agent.',
    waitsForNamed: 'Its device has not taken it, and does when it listens. Launch it on another one, or take it back.',
  },
  execs: {
    done: (op: string) => `Command done: ${op}`,
    expired: (op: string) => `Command not started in time: ${op}`,
    cancelled: (op: string) => `Command cancelled: ${op}`,
    unknown: (op: string) => `Nobody knows how this command ended: ${op}`,
    fine: 'It went well.',
    exit: (code: string) => `Exit code ${code}.`,
  },
  transcripts: {
    ready: (title: string) => `${title} is transcribed`,
    failed: (title: string) => `${title} was not transcribed`,
    lacks: {
      transcription: 'No provider of speech: the live captions stand for it.',
      sound: 'A part of the recording could not be heard.',
      tracks: 'Its file has a sound track, of another language or kind, that was not heard.',
      times: 'The provider gave times that are not those of the audio: they are estimated.',
      insights: 'No model wrote its insights: sentences of it stand for them.',
      semantic: 'It is not found by meaning.',
    },
  },
  environments: {
    /** Of a role, in "made you …", "As …". */
    roles: { owner: 'owner', maintainer: 'maintainer', developer: 'developer', viewer: 'viewer' },
    added: (who: string, role: string) => `${who} made you ${role} of an environment`,
    addedText: (slug: string) => `Reach it with: svc env terminal ${slug}`,
    inherited: (name: string) => `${name} is yours now`,
    inheritedText: (slug: string) =>
      `Whoever owned it is deleted, and you are the member who is there longest with the most rights. What its machine costs is yours to pay once you start it. Not yours to keep? Make somebody else its owner, or destroy it: svc env open ${slug}`,
    inheritedMachine:
      'Its machine served with a key of theirs, which is gone too: make a token on its page, and enrol the machine again with it: svc host enroll',
    passedOnText: (slug: string) =>
      `Whoever had it is no owner of it any more, and you had agreed to own it. It counts among yours, and what its machine costs is yours to pay from now on. Not yours to keep? Make somebody else its owner, or destroy it: svc env open ${slug}`,
    removed: (who: string) => `${who} took you out of an environment`,
    removedText: (slug: string) => `You reach ${slug} no more.`,
    removedOwnerText: (slug: string) =>
      `You reach ${slug} no more, and it is yours no more: it counts among those of another owner, who pays its machine from now on.`,
    asked: (who: string) => `${who} made you owner of an environment`,
    askedText: (slug: string) =>
      `You may do everything in it. It counts among yours, and costs you something, only once you agree to that and nobody else owns it. To agree: its page, Members, or svc env accept ${slug}`,
    handedOver: (name: string, who: string) => `${name} has a new owner: ${who}`,
    handedOverText: 'Whoever owned it is deleted. You stay what you are in it.',
    invited: (who: string) => `${who} invites you to an environment`,
    invitedText: (role: string) =>
      `As ${role}. Accept or decline it on the page of your environments, or with: svc env invitations`,
    failed: (name: string) => `${name} has failed`,
    budgetUsed: (name: string) => `${name} is stopped: its budget is used`,
    budget: (name: string, percent: string) => `${name} has used ${percent} % of its budget`,
    budgetText: (spent: string, budget: string) => `${spent} of ${budget} this month (UTC)`,
    idle: (name: string) => `${name} is stopped: nobody worked there`,
    idleText: (span: string, slug: string) => `for ${span}; start it again with: svc env open ${slug}`,
  },
  orgs: {
    removed: (name: string) => `You were taken out of the organisation ${name}`,
    removedText:
      'Its projects, and environments in them, are yours no more. An environment that nobody else has agreed to own stays yours, and you see its project.',
  },
  signIns: {
    new: (device: string) => `New sign-in: ${device}`,
    newText: (network: string) =>
      `From the network ${network}. If this was not you, sign out everywhere and set a new password.`,
    addressTaken: (address: string) => `Your account has the address ${address} no more`,
    addressTakenText: (email: string) =>
      `You had set it yourself and it was never confirmed, and whoever it belongs to has an account now. Yours has ${email}; sign in with that.`,
    recovered: 'Your account was recovered',
    recoveredText: (network: string) =>
      `A recovery code or link was used from the network ${network}; all other devices were signed out. If this was not you, sign out everywhere and set a new password.`,
    connected: (app: string) => `${app} may act for you`,
    connectedText: 'An app was let in. Disconnect it if you did not do this.',
    connectedAt: (host: string) => `An app at ${host} was let in. Disconnect it if you did not do this.`,
    stolen: (app: string) => `${app} was signed out: a token of it was used twice`,
    stolenText:
      'Somebody else may have it. Its tokens and the keys that were made with them are revoked; connect the app again, and look at what it let in.',
    password: 'Your password was changed',
    passwordText: 'It counts from now on. If this was not you, sign out everywhere and set a new password.',
    passkey: 'A passkey was added',
    passkeyText: (name: string) =>
      `${name}. If this was not you, remove it, then sign out everywhere and set a new password.`,
  },
  connections: {
    title: 'A disconnected app had changed things of yours',
    undone: (list: string) => `Undone or made anew: ${list}`,
    left: (list: string) => `Look at these yourself: ${list}`,
    more: (n: string) => `and ${n} more`,
    kinds: {
      ping_url: (name: string) => `ping address of ${name} (it was seen; rotate it to get the new one)`,
      mute: (name: string) => `silence of ${name}`,
      pause: (name: string) => `pause of ${name}`,
      monitor_times: (name: string) => `when ${name} is expected`,
      webhook_secret: (name: string) => `secret of the webhook ${name} (it was seen; rotate it to get the new one)`,
      webhook_terms: (name: string) => `what the webhook ${name} sends, and how`,
      preferences: () => 'which notifications go where',
      environment_name: (name: string) => `name of the environment ${name}`,
      environment_secret: (name: string) => `secret ${name}`,
      port_removed: (name: string) => `port ${name}, which is published no more`,
    },
  },
  webhooks: {
    off: (name: string) => `Webhook ${name} is switched off`,
    gone: 'Its receiver answered 410: it is gone. Mend the receiver, test it, and switch the webhook on again.',
    failing: 'Nothing arrived there for three days. Mend the receiver, test it, and switch the webhook on again.',
    broken: 'What is stored of it cannot be opened any more. Send its address and headers anew, or delete it.',
  },
  test: {
    title: 'Test notification',
    text: 'Somebody with a key of this account asked for it. Alerts reach you the same way.',
  },
  system: {
    workerMissing: 'No worker for 40 s',
    workerMissingText:
      'Schedules, monitors and jobs wait. Start one: ./svc up --only worker; ./svc doctor shows which parts run.',
    workerBack: 'A worker runs again',
    workerBackText: 'What was due meanwhile is caught up as each schedule says.',
    relayMissing: 'No relay for 40 s',
    relayMissingText:
      'Machines that connect to it are offline. Start one: ./svc up --only relay. After a day without one it is missed no more.',
    relayBack: 'A relay runs again',
    relayBackText: 'Machines of environments connect to it by themselves.',
    nodeMissing: 'A sandbox node has not answered for 40 s',
    nodeMissingText:
      'Sandboxes there end after a minute, paused ones wait. ./svc doctor names it; on its machine: ./svc up --only sandboxd.',
    nodeBack: 'The sandbox nodes answer again',
    nodeBackText: 'Paused sandboxes can be resumed.',
    nodeRefused: 'A second machine has a sandbox node',
    nodeRefusedText:
      'It gets no new sandbox: gateways reach the node beside them only. ./svc doctor names both machines and says what to run.',
  },
  backups: {
    failed: 'No backup was made',
    late: 'The backup is late',
    lateText: (age: string) => `The newest is ${age} old. ./svc doctor says why none was made.`,
    /** What an operator does, by what went wrong. */
    fixes: {
      forbidden: (command: string) => `Let the platform write there: ${command}`,
      full: () => 'Free room there, or keep fewer (SVC_BACKUP_KEEP).',
      nowhere: () => 'Name another place: in the hub (System), or SVC_BACKUP_DIR and restart.',
      missing: () => 'Make it, or mount its disk.',
      bucket: () => 'Look at the bucket, its endpoint and its keys.',
      other: () => 'See the log of the platform, then ./svc backup create',
    },
  },
  /** Titles without a name in them, by type, for a locked screen. */
  plain: {
    'heartbeat.down': 'A monitor is down',
    'heartbeat.up': 'A monitor is up again',
    'schedule.approval': 'A run awaits approval',
    'schedule.failed': 'A run failed',
    'schedule.late': 'A run was not started',
    'schedule.disabled': 'A schedule was switched off',
    schedule: 'News of a schedule',
    prompt: 'News of a prompt',
    transcript: 'News of a transcript',
    environment: 'News of an environment',
    exec: 'A command is over',
    login: 'News of how you sign in',
    passkey: 'News of how you sign in',
    password: 'News of how you sign in',
    connection: 'News of a connected app',
    other: 'New notification',
  },
  /** How what a notification tells of ended. */
  resolutions: {
    approved: 'It was approved.',
    skipped: 'It was skipped.',
    cancelled: 'It was cancelled.',
    expired: 'Its time is over.',
    started: 'It was started.',
    done: 'It is done.',
    recovered: 'It works again.',
    resumed: 'It was switched on again.',
    paused: 'It was paused.',
    postponed: 'It was put off.',
    accepted: 'You accepted it.',
    declined: 'You declined it.',
    dismissed: 'It was dismissed.',
    removed: 'It is no longer there.',
  },
};
