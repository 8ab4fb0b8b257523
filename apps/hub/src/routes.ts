import type { ComponentType } from 'preact';
import type { IconName } from './ui/icons.tsx';
import type { Words } from './words/words.tsx';

/** A page of the hub. */
interface PageRoute {
  /** As wouter reads it. */
  path: string;
  load: () => Promise<ComponentType<{ id: string }>>;
}

/** An entry of the menu. */
export interface NavEntry {
  name: keyof Words['nav'];
  to: string;
  icon: IconName;
  /** The feature of `GET /v1/me` that has to be on. */
  feature?: string;
  /** Who runs the installation sees it. */
  isForOperator?: boolean;
  /** Key after `g`. */
  goKey?: string;
}

/** Every page: the first one is loaded with the hub, the others when they are opened. */
export const pages: PageRoute[] = [
  { path: '/notifications', load: async () => (await import('./pages/notifications/Alerts.tsx')).Alerts },
  { path: '/notifications/settings', load: async () => (await import('./pages/notifications/Ways.tsx')).Ways },
  { path: '/notifications/:id', load: async () => (await import('./pages/notifications/Alert.tsx')).Alert },
  { path: '/heartbeats', load: async () => (await import('./pages/heartbeats/Monitors.tsx')).Monitors },
  { path: '/heartbeats/new', load: async () => (await import('./pages/heartbeats/NewMonitor.tsx')).NewMonitor },
  { path: '/heartbeats/:id', load: async () => (await import('./pages/heartbeats/Monitor.tsx')).Monitor },
  { path: '/schedules', load: async () => (await import('./pages/schedules/Schedules.tsx')).Schedules },
  { path: '/schedules/new', load: async () => (await import('./pages/schedules/NewSchedule.tsx')).NewSchedule },
  { path: '/schedules/:id', load: async () => (await import('./pages/schedules/Schedule.tsx')).Schedule },
  { path: '/schedule-runs', load: async () => (await import('./pages/schedules/Runs.tsx')).Runs },
  { path: '/schedule-runs/:id', load: async () => (await import('./pages/schedules/Run.tsx')).Run },
  { path: '/machines', load: async () => (await import('./pages/machines/Machines.tsx')).Machines },
  { path: '/machines/:id', load: async () => (await import('./pages/machines/Machine.tsx')).Machine },
  { path: '/keys', load: async () => (await import('./pages/keys/Keys.tsx')).Keys },
  { path: '/keys/:id', load: async () => (await import('./pages/keys/Key.tsx')).Key },
  { path: '/connections', load: async () => (await import('./pages/connections/ConnectedApps.tsx')).ConnectedApps },
  { path: '/sandboxes', load: async () => (await import('./pages/sandboxes/Sandboxes.tsx')).Sandboxes },
  { path: '/sandboxes/:id', load: async () => (await import('./pages/sandboxes/Sandbox.tsx')).Sandbox },
  {
    path: '/sandboxes/:id/terminal',
    load: async () => (await import('./pages/sandboxes/SandboxTerminal.tsx')).SandboxTerminal,
  },
  { path: '/environments', load: async () => (await import('./pages/environments/Environments.tsx')).Environments },
  { path: '/environments/:id', load: async () => (await import('./pages/environments/Environment.tsx')).Environment },
  {
    path: '/environments/:id/terminal',
    load: async () => (await import('./pages/environments/EnvironmentTerminal.tsx')).EnvironmentTerminal,
  },
  { path: '/projects/:id', load: async () => (await import('./pages/environments/Project.tsx')).Project },
  { path: '/prompts', load: async () => (await import('./pages/prompts/Prompts.tsx')).Prompts },
  { path: '/prompts/:id', load: async () => (await import('./pages/prompts/Prompt.tsx')).Prompt },
  { path: '/sessions', load: async () => (await import('./pages/sessions/Sessions.tsx')).Sessions },
  { path: '/sessions/:id', load: async () => (await import('./pages/sessions/Session.tsx')).Session },
  { path: '/transcripts', load: async () => (await import('./pages/transcripts/Transcripts.tsx')).Transcripts },
  {
    path: '/transcripts/vocabulary',
    load: async () => (await import('./pages/transcripts/Vocabulary.tsx')).Vocabulary,
  },
  { path: '/transcripts/:id', load: async () => (await import('./pages/transcripts/Transcript.tsx')).Transcript },
  { path: '/system', load: async () => (await import('./pages/system/System.tsx')).System },
  { path: '/me/usage', load: async () => (await import('./pages/usage/Usage.tsx')).Usage },
  { path: '/me', load: async () => (await import('./pages/me/Account.tsx')).Account },
];

/** The menu, in the order of value. On a phone the first four stand in the bar. */
export const menu: NavEntry[] = [
  { name: 'now', to: '/', icon: 'now', goKey: 'n' },
  { name: 'notifications', to: '/notifications', icon: 'alerts', feature: 'notifications', goKey: 'a' },
  { name: 'heartbeats', to: '/heartbeats', icon: 'monitors', feature: 'heartbeats', goKey: 'm' },
  { name: 'schedules', to: '/schedules', icon: 'schedules', feature: 'schedules', goKey: 's' },
  { name: 'machines', to: '/machines', icon: 'machines', feature: 'hosts', goKey: 'h' },
  { name: 'sandboxes', to: '/sandboxes', icon: 'sandboxes', feature: 'sandboxes', goKey: 'b' },
  { name: 'environments', to: '/environments', icon: 'environments', feature: 'environments', goKey: 'e' },
  { name: 'prompts', to: '/prompts', icon: 'prompts', feature: 'prompts', goKey: 'p' },
  { name: 'sessions', to: '/sessions', icon: 'sessions', feature: 'sessions' },
  { name: 'transcripts', to: '/transcripts', icon: 'transcripts', feature: 'transcripts', goKey: 't' },
  { name: 'keys', to: '/keys', icon: 'keys' },
  { name: 'connections', to: '/connections', icon: 'connections' },
  { name: 'me', to: '/me', icon: 'account', goKey: 'u' },
  { name: 'system', to: '/system', icon: 'system', isForOperator: true },
];
