import { isTest, type Source, type Violation } from './source.ts';

/** Code whose texts reach callers, alerts and logs of runs. */
const answers = /^apps\/(?:server\/src\/(?:features|kernel)|host\/src\/(?:runs|execs|ops))\//;

/** Places that pass a runtime's words on, and why they may. */
const allowed: Readonly<Record<string, string>> = {
  'apps/server/src/features/clouds/clouds.check.ts': 'a command of the operator, on their terminal',
  'apps/server/src/features/clouds/clouds.driver.ts': 'LaneKey: it says a code at most',
  'apps/server/src/features/clouds/clouds.ec2.ts': 'readAws: words of ours, about a key',
  'apps/server/src/features/hub/hub.build.ts': 'why the hub is not built, for the operator',
  'apps/server/src/features/inference/inference.attempt.ts': 'LaneKey: it says a code at most',
  'apps/server/src/features/inference/inference.commands.ts': 'a command of the operator, on their terminal',
  'apps/server/src/features/inference/inference.edit.commands.ts': 'a command of the operator, on their terminal',
  'apps/server/src/features/pages/pages.commands.ts': 'a command of the operator, on their terminal',
  'apps/server/src/features/pages/pages.crawler.ts': 'of classes of ours alone, which it names',
  'apps/server/src/features/providers/providers.secrets.ts': 'LaneKey itself: it says a code at most',
  'apps/server/src/features/speech/speech.commands.ts': 'a command of the operator, on their terminal',
  'apps/server/src/features/speech/speech.providers.ts': 'LaneKey: it says a code at most',
  'apps/server/src/features/tools/fetch.ts': 'isFaultOfServer: of classes of ours alone',
  'apps/server/src/kernel/base/log.ts': "the operator's log, which wants the runtime's words",
  'apps/server/src/kernel/db/rehearse.ts': 'migrations tried for the operator, on their terminal',
  'apps/server/src/kernel/share/workers.worker.ts': 'to its owner, the platform, which logs it',
};

/** A message that is read where the error may be any: words of Node.js, of a library, of a path. */
const anyMessage =
  /instanceof Error\b[^]{0,120}?\.message\b|\bas Error\)\??\.message\b|\bcause\??\.message\b|\$\{[^}]*String\((?:error|err|cause)\)/;

/** Errors of the runtime are told by `faultText` (`@svc/netguard/faults`), not in their own words. */
export function checkFaults(sources: readonly Source[]): Violation[] {
  return sources.flatMap(({ path, text }) => {
    if (!answers.test(path) || isTest(path) || path in allowed) return [];
    const found = anyMessage.exec(text.replaceAll(/^.*\blog(?:\.\w+)?\(.*$/gm, ''))?.[0];
    return found === undefined ? [] : [{ path, rule: "a runtime's words go through faultText", found }];
  });
}
