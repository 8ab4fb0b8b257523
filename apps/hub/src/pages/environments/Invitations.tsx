import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useAnswer } from '../../api/queries.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Section } from '../../ui/Page.tsx';
import { Time } from '../../ui/Time.tsx';
import { useWords } from '../../words/words.tsx';
import { type Invitation, stale } from './environments.ts';

/** Who invites the person, to be accepted or declined; nothing where nobody does. */
export function Invitations() {
  const text = useWords().invitations;
  const answer = useAnswer(['environments', 'invitations'], () => api.environments.listInvitations());
  const all = answer.data?.invitations ?? [];
  if (all.length === 0) return null;
  return (
    <Section title={text.title}>
      <p class="hint">{text.lead}</p>
      <ul class="rows" aria-label={text.title}>
        {all.map((one) => (
          <li key={one.environment_id}>
            <InvitationRow invitation={one} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function InvitationRow({ invitation }: { invitation: Invitation }) {
  const words = useWords();
  const text = words.invitations;
  const acts = useActs();
  const [, go] = useLocation();
  const { environment_id: id, user_id: userId, invited_by: by, role } = invitation;
  const accept = async (): Promise<void> => {
    const work = async () => api.environments.acceptInvitation({ params: { id }, body: { role } });
    if (await acts.run(work, { done: text.accepted, stale })) go(`/environments/${id}`);
  };
  const decline = async (): Promise<void> => {
    const work = async () => api.environments.removeMember({ params: { id, userId } });
    await acts.run(work, { done: text.declined, stale });
  };
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          <bdi>{by.email}</bdi>
        </span>
        <span class="row-detail">
          {text.to} <q>{<bdi>{invitation.environment_name}</bdi>}</q>
        </span>
        <span class="row-detail">
          {`${words.environments.roles[role]}: ${words.members.may[role]}`} · <Time at={invitation.created_at} />
        </span>
      </span>
      <span class="page-acts">
        <Button onPress={decline}>{text.decline}</Button>
        <Button look="primary" onPress={accept}>
          {text.accept}
        </Button>
      </span>
    </div>
  );
}
