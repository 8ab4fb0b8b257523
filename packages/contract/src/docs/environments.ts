import type { environments } from '../environments.ts';
import type { Docs } from './docs.ts';
import { exampleEnvironment, exampleEvent, exampleOwner, examplePort } from './environments.shapes.ts';
import { samples } from './samples.ts';

const byId = { id: samples.environment };
const sshKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEVYQU1QTEUtRVhBTVBMRS1FWEFNUExFLUVYQU1QTEUt';
const archived = { ...exampleEnvironment, state: 'archived' as const };
const destroyed = { ...exampleEnvironment, state: 'destroyed' as const };
const running = {
  ...exampleEnvironment,
  provider: 'managed_b' as const,
  region: 'nbg1',
  size: 'small' as const,
  hourlyRateMicroEur: 30_000,
  metadata: { budget_micro_eur: null },
};

/** Descriptions and examples of environments. */
export const environmentsDocs = {
  list: {
    description:
      'Those in which you have a role, whoever made them; destroyed ones are left out. A page has `next_cursor` when there ' +
      'are more.',
    example: { query: { limit: 10 }, response: { environments: [exampleEnvironment] } },
  },
  create: {
    description:
      'You become its owner. A machine of your own waits in `pending` until its daemon enrols; one at a provider is made ' +
      'at once where this installation has a provider (else 403) and your wallet an hour of it (else 402 `insufficient_balance`, ' +
      'with `unpaid_micro_eur` beside the error). 409 `already_has_env`, with `environment_id` beside the error: in a ' +
      '`vm_per_dev` project you have one already.',
    example: {
      body: { project_id: samples.project, provider: 'byo', name: 'Workstation' },
      response: { environment: exampleEnvironment },
    },
  },
  get: {
    description:
      'One without a role in it gets 404. A destroyed one is answered for 90 days; what happened before the last 20 events ' +
      'stands at `/events`.',
    example: {
      params: byId,
      response: {
        environment: exampleEnvironment,
        isolation: 'shared_vm',
        role: 'owner',
        user_id: exampleOwner.user_id,
        members: [exampleOwner],
        ports: [],
        events: [exampleEvent],
      },
    },
  },
  update: {
    description: '`idle_timeout_minutes` `null` is 30 again. The slug stays.',
    example: {
      params: byId,
      body: { name: 'Workstation', idle_timeout_minutes: 60 },
      response: { environment: { ...exampleEnvironment, idleTimeoutMinutes: 60 } },
    },
  },
  start: {
    description:
      'Refused with 409 `invalid_transition` for a machine of your own, which svc does not switch on, and for one that does not stand ' +
      'still, or whose budget of the month is used up. An archived one at a provider is made anew. 402 `insufficient_balance` as for a ' +
      'new one.',
    example: {
      params: byId,
      response: { environment: { ...running, state: 'starting' }, from: 'stopped', to: 'starting' },
    },
  },
  stop: {
    description:
      'Refused with 409 `invalid_transition` for a machine of your own, and for one that does not run. It is `stopping` until its ' +
      'provider says that it stands still.',
    example: {
      params: byId,
      response: {
        environment: { ...running, state: 'stopping', stateReason: 'user_request' },
        from: 'running',
        to: 'stopping',
      },
    },
  },
  archive: {
    description:
      'A machine of your own can be enrolled in it again; one at a provider is started again, which makes it anew. What its ' +
      'daemon serves ends.',
    example: { params: byId, response: { environment: archived, from: 'pending', to: 'archived' } },
  },
  destroy: {
    description:
      'Cannot be taken back: its secrets and its token are deleted at once. Without a machine at a provider it is ' +
      '`destroyed` in the answer.',
    example: { params: byId, response: { environment: destroyed, from: 'pending', to: 'destroyed' } },
  },
  events: {
    description:
      'Every change writes one; a move of its state is `state:<from>-><to>`. The last 10,000 are kept, for 400 days.',
    example: { params: byId, query: { limit: 10 }, response: { events: [exampleEvent] } },
  },
  enrollToken: {
    description:
      'On the machine: `svc host enroll <token>`. The token is shown once and is worthless when it was taken, when another ' +
      'one is made, and when who made it may no longer. 409 `not_enrollable`: it is destroyed.',
    example: {
      params: byId,
      response: {
        token: samples.enrolToken,
        expires_at: '2026-11-02T09:30:00.000Z',
        environment_id: samples.environment,
      },
    },
  },
  enroll: {
    description:
      'Needs no key: the token is the right to do it. 401 `invalid_api_key`: it was taken, replaced, is over 30 minutes old, ' +
      'or is none; after a hundred wrong ones in a minute an address gets 429.',
    example: {
      body: {
        token: samples.enrolToken,
        device_id: samples.host,
        daemon_version: '0.1.0',
        os: 'linux',
        arch: 'x64',
      },
      response: { environment_id: samples.environment, relay_url: 'https://svc.example.com/relay' },
    },
  },
  listMembers: {
    description:
      'In the order of their places, and after them who is invited: `accepted_at` is null. The ports of a member begin at ' +
      '`port_range_start`, a hundred each.',
    example: { params: byId, response: { members: [exampleOwner] } },
  },
  listInvitations: {
    description:
      'Accept one with `POST /v1/environments/{id}/members/me/accept`, decline it with DELETE of your own membership; what you ' +
      'do not answer ends after 30 days. Of more than 100 the oldest of whoever sent most go.',
    example: {
      response: {
        invitations: [
          {
            user_id: samples.member,
            environment_id: samples.environment,
            environment_name: 'Workstation',
            role: 'developer',
            invited_by: { user_id: samples.account, email: 'ana@example.com' },
            created_at: '2026-11-02T09:00:00.000Z',
          },
        ],
      },
    },
  },
  addMember: {
    description:
      'Somebody who has an account here, else 404: `accepted_at` is null, and the environment 404 to them, until they accept; ' +
      'who is in an organisation with you is a member at once, unless they are to be an owner. They hear of you once a day, and who declined not for 30 days, ' +
      'which you cannot see. 409 `vm_per_dev_single_member`: in such a project everybody has a machine alone; 429 ' +
      '`rate_limit_exceeded`: an account adds, or tries to add, 20 a minute.',
    example: {
      params: byId,
      body: { email: samples.memberEmail, role: 'developer' },
      response: {
        member: {
          user_id: samples.member,
          role: 'developer',
          linux_username: 'mihai',
          port_range_start: 20_100,
          accepted_at: null,
        },
      },
    },
  },
  acceptInvitation: {
    description:
      'You get 404 where nobody invites you, or you declined, and 409 `invitation_changed` where it is not for the `role` that you ' +
      'name: read the list again. Name and ports may differ from those of the invitation. Whom others made an owner ' +
      '(`agreed_to_own` false) agrees to own it: with its quota and costs, should it pass to them.',
    example: {
      params: { id: samples.invitedTo },
      body: { role: 'developer' },
      response: {
        member: {
          user_id: samples.account,
          role: 'developer',
          linux_username: 'ana',
          port_range_start: 20_100,
          accepted_at: '2026-11-02T09:00:00.000Z',
        },
      },
    },
  },
  setSshKey: {
    description:
      'In place of the one before; it is never answered again. A machine at a provider takes it within seconds, one of your ' +
      'own where its policy says `users`.',
    example: {
      params: byId,
      body: { public_key: sshKey },
      response: { user_id: samples.account, ssh_public_key: true },
    },
  },
  updateMember: {
    description:
      'Owners alone make or lower an owner, who has the rights at once; the environment itself passes to them only once they ' +
      'accept that (`agreed_to_own`). 409 `last_owner`: nobody who agreed would own the environment.',
    example: {
      params: { ...byId, userId: samples.member },
      body: { role: 'maintainer' },
      response: {
        member: {
          user_id: samples.member,
          role: 'maintainer',
          linux_username: 'mihai',
          port_range_start: 20_100,
          accepted_at: null,
        },
      },
    },
  },
  removeMember: {
    description:
      'With your own id you leave, whatever your role is, or decline, of which the environment sees nothing. 409 `last_owner`: nobody who agreed would own it.',
    example: { params: { ...byId, userId: samples.member }, response: { deleted: true, user_id: samples.member } },
  },
  listPorts: {
    description: 'Published ones, by number; what listens on the machine stands in its relay status.',
    example: { params: byId, response: { ports: [] } },
  },
  publishPort: {
    description:
      '`owner`: developers and above; `org`: members of the organisation and viewers too; `authenticated`: every account ' +
      'here; `public`: anybody who has the address.',
    example: {
      params: { ...byId, port: 3_000 },
      body: { visibility: 'org', label: 'web' },
      response: { port: examplePort },
    },
  },
  removePort: {
    description: 'What others have open there ends within seconds.',
    example: { params: { ...byId, port: 8_080 }, response: { deleted: true, port: 8_080 } },
  },
  linkPort: {
    description:
      'Its browser gets a cookie of that origin alone, for 12 hours at most: it ends with the role, the key or the account. A port that is not published answers 404: reach it with `svc env forward`.',
    example: {
      params: { ...byId, port: 4000 },
      response: {
        url: 'http://4000--shop-k3x9.localhost:8790/?svc_ticket=EXAMPLE-ticket',
        expires_at: '2026-03-08T12:01:00.000Z',
      },
    },
  },
  listSecrets: {
    description: 'Names and when they were set. No route answers a value.',
    example: { params: byId, response: { secrets: [] } },
  },
  setSecret: {
    description:
      'Sealed under a key of its own before it is written. 201 for a new one, 200 with `updated` for one that was there.',
    example: {
      params: { ...byId, name: 'GIT_TOKEN' },
      body: { value: 'EXAMPLE-secret' },
      response: { name: 'GIT_TOKEN', updated: false },
    },
  },
  removeSecret: {
    description: 'It is gone for good; its name stays in the events.',
    example: { params: { ...byId, name: 'OLD_TOKEN' }, response: { deleted: true, name: 'OLD_TOKEN' } },
  },
} satisfies Docs<typeof environments>;
