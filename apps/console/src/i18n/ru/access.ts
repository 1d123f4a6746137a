import type { AccessWords } from '../en/access.js';

export const accessWords: AccessWords = {
  account: {
    email: 'Эл. почта',
    until: 'Вход действует до',
    sessions: 'Где выполнен вход',
    current: 'Этот',
    endOthers: 'Завершить остальные',
  },
  access: {
    roles: 'Роли',
    users: 'Люди',
    invite: 'Пригласить',
    invitations: 'Открытые приглашения',
    approvals: 'Одобрения',
    expires: 'До',
    link: 'Ссылка приглашения. Показывается один раз: передайте её человеку.',
    lastLogin: 'Последний вход',
    changeRoles: 'Изменить роли',
    removeUser: 'Убрать из организации',
    withdraw: 'Отозвать',
    approve: 'Одобрить',
    refuse: 'Отказать',
    by: 'Просит',
    request: 'О чём просьба',
    role: {
      owner: 'Владелец: всё',
      operator: 'Оператор: неизвестные чеки, кассы',
      accountant: 'Бухгалтер: отчёты, возвраты',
      support: 'Поддержка: чтение',
      developer: 'Разработчик: клиенты, вебхуки',
    },
  },
};
