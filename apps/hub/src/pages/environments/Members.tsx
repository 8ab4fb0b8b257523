import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { api } from '../../api/client.ts';
import { useActs } from '../../ui/acts.tsx';
import { Button } from '../../ui/Button.tsx';
import { Dialog } from '../../ui/Dialog.tsx';
import { Menu } from '../../ui/Menu.tsx';
import { Section } from '../../ui/Page.tsx';
import { useWords } from '../../words/words.tsx';
import { isAtLeast, type Member, stale, type Whole } from './environments.ts';
import { AddMember, ChangeRole, SshKey } from './MemberForms.tsx';

/** People with a role here; who may changes them, everybody may leave. */
export function Members({ whole }: { whole: Whole }) {
  const words = useWords();
  const text = words.members;
  const [open, setOpen] = useState<'add' | 'key'>();
  const { environment, role, members } = whole;
  const { roles, needs } = words.environments;
  const close = (): void => setOpen(undefined);
  return (
    <Section
      title={text.title}
      acts={
        <div class="page-acts">
          {isAtLeast(role, 'developer') && <Button onPress={() => setOpen('key')}>{text.sshKey}</Button>}
          {isAtLeast(role, 'maintainer') ? (
            <Button icon="add" onPress={() => setOpen('add')}>
              {text.add}
            </Button>
          ) : (
            <p class="hint">{needs(roles.maintainer, roles[role])}</p>
          )}
        </div>
      }
    >
      <ul class="rows" aria-label={text.title}>
        {members.map((member) => (
          <li key={member.user_id}>
            <MemberRow member={member} whole={whole} />
          </li>
        ))}
      </ul>
      {open === 'add' && <AddMember id={environment.id} role={role} onClose={close} />}
      {open === 'key' && <SshKey id={environment.id} onClose={close} />}
    </Section>
  );
}

function MemberRow({ member, whole }: { member: Member; whole: Whole }) {
  const words = useWords();
  const text = words.members;
  const [open, setOpen] = useState<'change' | 'remove'>();
  const { environment, role, user_id: me } = whole;
  const isMe = member.user_id === me;
  // Only owners make, change and take out owners.
  const mayChange = isAtLeast(role, 'maintainer') && (member.role !== 'owner' || role === 'owner');
  const close = (): void => setOpen(undefined);
  const acts = useActs();
  const agree = async (): Promise<void> => {
    const work = async () => api.environments.acceptInvitation({ params: { id: environment.id }, body: {} });
    await acts.run(work, { done: text.agreed, stale });
  };
  return (
    <div class="row padded">
      <span class="row-main">
        <span class="row-title">
          <bdi>{member.name === null || member.name === '' ? member.email : member.name}</bdi>
          {isMe && <span class="tag">{text.you}</span>}
          {member.accepted_at === null && <span class="tag">{text.invited}</span>}
          {member.agreed_to_own === false && <span class="tag">{text.asked}</span>}
        </span>
        <span class="row-detail">
          {[
            member.name !== null && member.name !== '' && member.email,
            `${words.environments.roles[member.role]}: ${text.may[member.role]}`,
          ]
            .filter(Boolean)
            .join(' · ')}
        </span>
        <span class="row-detail">
          {text.linuxUser} <code>{member.linux_username}</code> · {member.ssh_public_key ? text.hasKey : text.noKey}
        </span>
      </span>
      {(mayChange || isMe) && (
        <Menu
          label={words.moreActs}
          items={[
            ...(isMe && member.agreed_to_own === false ? [{ label: text.agree, act: agree }] : []),
            ...(mayChange ? [{ label: text.change, act: () => setOpen('change') }] : []),
            {
              label: isMe ? text.leave : member.accepted_at === null ? text.withdraw : text.remove,
              act: () => setOpen('remove'),
              isDanger: true,
            },
          ]}
        />
      )}
      {open === 'change' && <ChangeRole id={environment.id} member={member} role={role} onClose={close} />}
      {open === 'remove' && <TakeOut id={environment.id} member={member} isMe={isMe} onClose={close} />}
    </div>
  );
}

function TakeOut({ id, member, isMe, onClose }: { id: string; member: Member; isMe: boolean; onClose: () => void }) {
  const text = useWords().members;
  const acts = useActs();
  const [, go] = useLocation();
  const isInvited = member.accepted_at === null;
  const act = isMe ? text.leave : isInvited ? text.withdraw : text.remove;
  const remove = async (): Promise<void> => {
    const work = async () => api.environments.removeMember({ params: { id, userId: member.user_id } });
    if (!(await acts.run(work, { done: isInvited ? text.withdrawn : text.removed, stale }))) return;
    onClose();
    if (isMe) go('/environments');
  };
  return (
    <Dialog title={act} onClose={onClose}>
      <div class="stack">
        <p>{isMe ? text.leaveText : isInvited ? text.withdrawText(member.email) : text.removeText(member.email)}</p>
        <Button look="danger" onPress={remove}>
          {act}
        </Button>
      </div>
    </Dialog>
  );
}
