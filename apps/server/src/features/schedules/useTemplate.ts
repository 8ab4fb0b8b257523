import { contract } from '@svc/contract';
import { badRequest } from '../../kernel/base/errors.ts';
import { type Operation, operation } from '../../kernel/feature.ts';
import { createSchedule, type Parts } from './create.ts';
import { parseMerged } from './schedules.rules.ts';
import { viewSchedule } from './schedules.view.ts';
import { readyMade } from './templates.ts';

/** Creates a schedule from a template; `params` fill its blanks, and any field of a schedule among them wins. */
export const useTemplate = (parts: Parts): Operation =>
  operation(contract.schedules.useTemplate, async (context, { body }) => {
    const template = readyMade.find(({ id }) => id === body.template);
    if (!template) {
      const message = `there is no template ${JSON.stringify(body.template)}; see GET /v1/schedules/templates`;
      throw badRequest(`template: ${message}`, { template: [message] });
    }
    const values: Record<string, string> = {};
    const overrides = Object.fromEntries(Object.entries(body.params).filter(([, value]) => value !== null));
    for (const param of template.params) {
      const given = overrides[param.name] ?? param.default;
      delete overrides[param.name];
      if (typeof given !== 'string' || given === '') {
        const message = `must be a text: ${param.description}`;
        throw badRequest(`params.${param.name}: ${message}`, { [`params.${param.name}`]: [message] });
      }
      values[param.name] = given;
    }
    const definition = parseMerged({ ...template.build(values), ...overrides, template: template.id });
    const { row, now } = await createSchedule(parts, context, definition);
    return { schedule: await viewSchedule(context.db, row, now.ms) };
  });
