import type { Command } from 'commander';
import type { Config } from './config.ts';
import { checkClouds } from './features/clouds/index.ts';
import {
  addProvider,
  aliasProvider,
  checkProviders,
  findLocalProviders,
  listProviders,
  moveProvider,
  type NewProvider,
  providerKinds,
  removeProvider,
} from './features/inference/index.ts';
import { describePrices, updatePrices } from './features/providers/index.ts';
import {
  addSpeech,
  checkSpeech,
  isSpeechKind,
  listSpeech,
  type NewSpeech,
  removeSpeech,
} from './features/speech/index.ts';
import { namedKeyFiles, providersPath } from './kernel/outside/providers.ts';
import { oneOf } from './kernel/commands.ts';
import { findDataDir } from './postgres/datadir.ts';
import { becomePlatform } from './root/user.ts';

interface Parts {
  config: () => Config;
  print: (result: unknown) => void;
  json: () => boolean;
}

/** `svc providers`: the lanes of models, providers of speech, prices. */
export function providersCommand(program: Command, parts: Parts): void {
  const providers = program.command('providers').description('where models are asked: list, check, add');
  const place = () => {
    const settings = parts.config();
    return { config: settings, dataDir: findDataDir(settings) };
  };
  lookingCommands(providers, parts, place);
  changingCommands(providers, parts, place);
}

type Place = () => { config: Config; dataDir: string };

function lookingCommands(providers: Command, { print, json }: Parts, place: Place): void {
  providers
    .command('list')
    .description('every lane, its models and aliases, and every provider of speech')
    .action(() => print([...listProviders(place()), ...listSpeech(place())]));
  providers
    .command('check')
    .description('ask every lane, every provider of speech and of machines; exit code 1 when one does not answer')
    .action(async () => {
      const where = place();
      // A program that prints a key runs as it does for the platform.
      becomePlatform(where.dataDir, namedKeyFiles(providersPath(where)));
      const [speech, clouds] = await Promise.all([checkSpeech(where), checkClouds(where)]);
      const others = [...speech.providers, ...clouds.providers];
      const isAlone = others.length > 0 && listProviders(where).length === 0;
      const { ok, lanes } = isAlone ? { ok: true, lanes: [] } : await checkProviders(where);
      const isWell = ok && speech.ok && clouds.ok;
      const found = { ok: isWell, lanes, speech: speech.providers, environments: clouds.providers };
      print(json() ? found : [...lanes, ...others]);
      if (!isWell) process.exitCode = 1;
    });
  providers
    .command('prices')
    .description('the prices in use, and newer ones: --from a file or an address')
    .option('--from <file or URL>', 'prices that win over those of this release')
    .action(async ({ from }: { from?: string }) => {
      const { dataDir } = place();
      print(from === undefined ? describePrices(dataDir) : await updatePrices(dataDir, from));
    });
}

function changingCommands(providers: Command, { print }: Parts, place: Place): void {
  providers
    .command('add [kind]')
    .description(
      'add a lane: openai, anthropic, responses, ollama, lmstudio, llamacpp, vllm; or a provider of speech: deepgram, assemblyai, whispercpp, sherpa, openai --speech; without a kind: what listens here',
    )
    .option('--id <name>', 'what the lane is called; default: its kind')
    .option('--url <url>', 'where it is, when that is not the usual place')
    .option('--key-env <name>', "variable of the platform's environment that holds its key")
    .option('--key-file <path>', 'file that holds its key')
    .option('--model <name...>', 'its models; default: all that it lists')
    .option('--speech', 'a provider of speech, where its kind may be both')
    .option('--model-dir <path>', 'folder of models of sherpa')
    .option('--diarizes', 'its model of speech tells speakers apart')
    .action(async (kind: string | undefined, options: NewProvider & NewSpeech & { speech?: boolean }) => {
      if (kind !== undefined && isSpeechKind(kind, options.speech === true))
        return print(addSpeech(place(), kind, options));
      if (kind !== undefined) return print(await addProvider(place(), oneOf(providerKinds)(kind), options));
      const found = await findLocalProviders();
      print(found.length > 0 ? found : 'nothing listens here; add one by its kind: svc providers add --help');
    });
  providers
    .command('remove <lane>')
    .description('take a lane out of the file and its aliases, or a provider of speech out of the file')
    .action((id: string) => print(removeSpeech(place(), id) ?? removeProvider(place(), id)));
  providers
    .command('alias <name> [lanes...]')
    .description(
      'the lanes behind a name in the order in which they are tried: lane or lane/model; without lanes the name goes',
    )
    .action((name: string, lanes: string[]) => print(aliasProvider(place(), name, lanes)));
  providers
    .command('move <lane> <place>')
    .description('move a lane within an alias; 1 is tried first')
    .option('--alias <name>', 'which alias', 'svc')
    .action((id: string, to: string, { alias }: { alias: string }) =>
      print(moveProvider(place(), id, Number(to), alias)),
    );
}
