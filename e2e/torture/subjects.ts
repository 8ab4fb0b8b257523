import type { Subject } from './subject.ts';
import { promptSubjects } from './subjects.prompts.ts';
import { runSubjects } from './subjects.runs.ts';
import { machineSubjects } from './subjects.machines.ts';
import { transcriptSubjects } from './subjects.transcripts.ts';
import type { World } from './world.ts';

/** Every table of moves. */
export const subjectsOf = async (world: World): Promise<Subject[]> =>
  (
    await Promise.all([machineSubjects(world), promptSubjects(world), runSubjects(world), transcriptSubjects(world)])
  ).flat();
