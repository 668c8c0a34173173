//! Conversations
